"""Answer 503 with Retry-After to costly requests for which no slot became free, such as searches: others run."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from esweb.middleware.outages import try_later
from runs.http import SlotsBusy
from runs.http.user_slots import RETRY_SECONDS

log = logging.getLogger(__name__)


class BusySlots:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer if the request got no slot; leave other errors to others."""
        if not isinstance(error, SlotsBusy):
            return None
        answer = try_later(request, error.detail, RETRY_SECONDS)
        log.info("No slot: %s %s is answered 503", request.method, request.path[:200])
        # Django would log it as an error of the server.
        answer._has_been_logged = True  # type: ignore[attr-defined]
        return answer
