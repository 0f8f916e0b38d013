"""One budget of memory for the points that all requests of a process read; answer 503 with Retry-After if it stays used
up."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from esweb.middleware.outages import try_later
from runs.metrics import MemoryBusy, request_memory

log = logging.getLogger(__name__)
RETRY_SECONDS = 5


class SeriesMemory:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with request_memory():
            return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer if the request got no memory; leave other errors to others."""
        if not isinstance(error, MemoryBusy):
            return None
        detail = gettext(
            "Other requests read so many points that no memory is left for this one. Try again in a few seconds."
        )
        answer = try_later(request, detail, RETRY_SECONDS)
        log.info("No memory for points: %s %s is answered 503", request.method, request.path[:200])
        # Django would log it as an error of the server.
        answer._has_been_logged = True  # type: ignore[attr-defined]
        return answer
