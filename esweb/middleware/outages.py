"""Answer 503 with Retry-After and one sentence while PostgreSQL or Valkey is away, full or frozen.

Nothing here queries either of them.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import psycopg
from csp.middleware import CSPMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.cache import add_never_cache_headers
from django.utils.http import escape_leading_slashes
from django.utils.translation import gettext
from psycopg_pool import PoolTimeout

from esweb.bootstrap import disk_room
from esweb.database.base import UnusableDatabase
from esweb.middleware.outage_errors import REDIS, sqlstate_of
from runs.http import problem

API, PUSHES = "/api/", "/records"
RETRY_SECONDS = 5
SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}


def unavailable(request: HttpRequest, server: str, *, error: BaseException | None = None, began: bool) -> HttpResponse:
    """Return the 503. `began` is true if the request may have changed something already."""
    words = [_cause(server, error), gettext("Try again in a few seconds.")]
    if began and request.method not in SAFE:
        words[1:] = [_advice_after_a_change(request)]
    return try_later(request, " ".join(words), RETRY_SECONDS)


def try_later(request: HttpRequest, detail: str, retry_seconds: int) -> HttpResponse:
    """Return a 503 with this sentence and Retry-After: a problem document, a text for htmx, or a page with a link."""
    answer: HttpResponse
    if request.path.startswith(API):
        answer = problem(503, detail)
    elif request.headers.get("HX-Request") == "true":
        answer = HttpResponse(detail, status=503, content_type="text/plain; charset=utf-8")
    else:
        address = escape_leading_slashes(request.get_full_path()) if request.method in SAFE else ""
        answer = HttpResponse(render_to_string("503.html", {"detail": detail, "address": address}), status=503)
    answer["Retry-After"] = str(retry_seconds)
    add_never_cache_headers(answer)
    return answer


def answer_in_front(scope: dict[str, Any], server: str, *, began: bool) -> HttpResponse:
    """Return the 503 for a request that Django does not answer, with the headers that protect."""

    def view(request: HttpRequest) -> HttpResponse:
        language = "en" if request.path.startswith(API) else translation.get_language_from_request(request)
        with translation.override(language):
            return unavailable(request, server, began=began)

    chain = SecurityMiddleware(XFrameOptionsMiddleware(CSPMiddleware(view)))
    answer: HttpResponse = chain(ASGIRequest(scope, BytesIO()))  # type: ignore[assignment]
    return answer


def _cause(server: str, error: BaseException | None) -> str:
    if server == REDIS and disk_room.watch.is_full(disk_room.VALKEY):
        return gettext("The disk of Valkey, which stores counters and queues, is full: an admin must free space.")
    if server == REDIS:
        return gettext("Valkey, which stores counters and queues, does not answer or cannot write.")
    if isinstance(error, UnusableDatabase):
        # The reason may contain paths of this machine, and strangers read this.
        return gettext("The installed esweb cannot use this database; the log of the web server has the reason.")
    if isinstance(error, OperationalError) and isinstance(error.__cause__, PoolTimeout):
        return gettext("The site is overloaded at the moment.")
    if sqlstate_of(error) == psycopg.errors.DiskFull.sqlstate or disk_room.watch.is_full(disk_room.DATABASE):
        return gettext("The database's disk is full: an admin must free space.")
    return gettext("The database does not answer.")


def _advice_after_a_change(request: HttpRequest) -> str:
    if request.path.startswith(API) and request.path.endswith(PUSHES):
        return "Send the same records again: records that were already stored are not stored twice."
    if request.path.startswith(API) and "Idempotency-Key" in request.headers:
        return "It is unknown whether the change was stored: send it again with the same Idempotency-Key header."
    return gettext("It is unknown whether the change was stored: check before you send it again.")
