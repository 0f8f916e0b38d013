"""Texts about requests that failed. They hold the HTTP status, and nothing that the server sent.

Who enters an address is not always who may read what is there: pages, logs and the API show these texts.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
from http import HTTPStatus
from typing import Any


class InvalidReply(ValueError):
    """A reply that cannot be used. The message says what is wrong without repeating the reply, and may be shown."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a reply's JSON. Raise InvalidReply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidReply("the response is not JSON") from None


def describe_status(code: int) -> str:
    """Return a status with its usual phrase, such as 404 Not Found; the server may have sent another."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def describe_value(value: Any) -> str:
    """Return a word for a JSON value of a reply: the value itself says too much."""
    if value is None or isinstance(value, bool) or value != value or value in (float("inf"), float("-inf")):
        return str(value)
    return type(value).__name__


def describe_failure(error: BaseException) -> str:
    """Return a text about a request that failed: the system's for connections, and no text of a reply."""
    if isinstance(error, urllib.error.HTTPError):
        return describe_status(error.code)
    if isinstance(error, (OSError, InvalidReply)):
        return str(error) or type(error).__name__
    if isinstance(error, http.client.IncompleteRead):
        return "the response ended early"
    if isinstance(error, http.client.HTTPException):
        return "the response is not HTTP"
    return type(error).__name__
