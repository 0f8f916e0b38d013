"""Answer 503 with Retry-After to searches for which no slot became free: other searches are running."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from esweb.middleware.outages import try_later
from runs.http import SearchesBusy
from runs.http.search_slots import RETRY_SECONDS

log = logging.getLogger(__name__)


class BusySearches:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer if a search got no slot; leave other errors to others."""
        if not isinstance(error, SearchesBusy):
            return None
        detail = gettext("Other searches are running, so this one has not begun. Try again in a few seconds.")
        answer = try_later(request, detail, RETRY_SECONDS)
        log.info("No search slot: %s %s is answered 503", request.method, request.path[:200])
        # Django would log it as an error of the server.
        answer._has_been_logged = True  # type: ignore[attr-defined]
        return answer
