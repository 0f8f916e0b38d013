"""Answer 400, not 500, to requests whose text PostgreSQL cannot store, or that are nested too deep to be walked.

Pages and the API check their input and report more about it; this is for data that reaches the database unchecked, such
as an unknown id in an address.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import psycopg
from django.db import DataError
from django.http import HttpRequest, HttpResponse

from runs.http import problem
from workers.config.shallow_json import MAX_DEPTH

API = "/api/"
log = logging.getLogger(__name__)


class Unstorable:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 400 with the reason if the error is of such a request; else leave it to others."""
        if not (reason := reason_of(error)):
            return None
        log.warning(
            "Unstorable request: %s %s is answered 400: %s", request.method, request.path[:200], reason, exc_info=error
        )
        if request.path.startswith(API):
            return problem(400, reason)
        return HttpResponse(f"{reason}.\n", status=400, content_type="text/plain; charset=utf-8")


def reason_of(error: Exception) -> str:
    """Return why the request cannot be handled; empty if the error is another's."""
    if isinstance(error, RecursionError):
        return f"The request is nested too deeply: lists and objects may be nested at most {MAX_DEPTH} deep"
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return "The request contains half of a surrogate pair (U+D800 to U+DFFF); text must be valid Unicode"
    if isinstance(error, DataError | psycopg.DataError | ValueError) and "NUL (0x00)" in str(error):
        return "The request contains the character NUL (%00), which text must not contain"
    return ""
