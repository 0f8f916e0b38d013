"""Calls the REST API, and turns every way in which that can fail into a Failure with a sentence."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from esweb.cli import errors
from esweb.cli.account import Account
from esweb.cli.errors import Failure

TIMEOUT_SECONDS = 60
TRIES = 3
LONGEST_WAIT_SECONDS = 60
CODES = {
    400: errors.BAD_INPUT,
    401: errors.NOT_ALLOWED,
    403: errors.NOT_ALLOWED,
    404: errors.NOT_FOUND,
    422: errors.BAD_INPUT,
}
Query = Mapping[str, Any]


class NotFollowed(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: following it would show the token to whoever it names."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


class Server:
    """One server, as one token sees it. Calls that were lost are sent again: what makes something carries a key."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._opener = urllib.request.build_opener(NotFollowed)
        self._seen: dict[str, tuple[str, Any]] = {}

    def get(self, path: str, query: Query | None = None) -> Any:
        """What is at an address below /api/v1. What has not changed since is not sent again. Raises Failure."""
        address = self._address(path, query)
        etag, known = self._seen.get(address, ("", None))
        found = self._call("GET", address, headers={"If-None-Match": etag} if etag else {})
        if found is None:
            return known
        tag, body = found
        self._seen = {address: (tag, body)}
        return body

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What is answered to a POST, done once however often it was sent. Raises Failure."""
        headers = {"Idempotency-Key": str(uuid.uuid4()), "Content-Type": "application/json"}
        found = self._call("POST", self._address(path), json.dumps(body or {}).encode(), headers)
        return found[1] if found else None

    def delete(self, path: str) -> None:
        """Removes what is at an address. Raises Failure."""
        self._call("DELETE", self._address(path))

    def pages(self, path: str, query: Query, most: int | None = None) -> Iterator[Any]:
        """The items of a list, page after page, at most so many of them."""
        left = most
        cursor = None
        while left is None or left > 0:
            page = self.get(path, {**query, "cursor": cursor, "limit": min(500, left or 500)})
            yield from page["items"]
            left = None if left is None else left - len(page["items"])
            cursor = page["next"]
            if cursor is None:
                return

    def _address(self, path: str, query: Query | None = None) -> str:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        asked = f"?{urlencode(given, doseq=True)}" if given else ""
        return f"{self.account.url}/api/v1/{quote(path)}{asked}"

    def _call(
        self, method: str, address: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[str, Any] | None:
        """(ETag, what was answered); None where it has not changed."""
        shown = {"Authorization": f"Bearer {self.account.token}", "Accept": "application/json", **(headers or {})}
        for attempt in range(1, TRIES + 1):
            request = urllib.request.Request(address, body, shown, method=method)  # noqa: S310 (checked at login)
            try:
                with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                    return answer.headers.get("ETag", ""), json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                if error.code == 304:
                    return None
                wait = _wait_seconds(error)
                if wait is None or attempt == TRIES:
                    raise _refusal(error) from error
            except (OSError, http.client.HTTPException, ValueError) as error:
                if attempt == TRIES:
                    raise Failure(errors.AWAY, f"{self.account.url} does not answer: {_why(error)}") from error
                wait = attempt
            time.sleep(wait)
        raise AssertionError("unreachable")


def _wait_seconds(error: urllib.error.HTTPError) -> int | None:
    """How long to wait before the call is worth another try; None where it never is."""
    if error.code == 429:
        return min(LONGEST_WAIT_SECONDS, int(error.headers.get("Retry-After", "1")))
    return 1 if error.code in (502, 503, 504) else None


def _refusal(error: urllib.error.HTTPError) -> Failure:
    code = errors.AWAY if error.code >= 500 else CODES.get(error.code, errors.REFUSED)
    try:
        said = json.loads(error.read())
        problems = [(p["path"], p["message"]) for p in said.get("problems", [])]
        return Failure(code, str(said["detail"]), problems)
    except (ValueError, KeyError, TypeError, AttributeError):
        what = "is this an esweb server?" if error.code in (301, 302, 404) else error.reason
        return Failure(code, f"the server answered {error.code}: {what}")


def _why(error: Exception) -> str:
    return str(getattr(error, "reason", error)) or type(error).__name__
