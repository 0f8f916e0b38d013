"""State of every response that only its reader may cache it, and must ask again before using it.

Pages and the API answer by cookie or token. A proxy, or the next user of a browser's profile, must not get the answer
of another. `no-cache` and not `no-store`: ETags make reading again cheap, and Back shows the page as it was left.
Views of keys and passwords forbid storing themselves (`never_cache`). Static files are the same for everybody: their
middleware answers in front of this one. Shared links depend on no cookie, but they end: they are private too.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

PRIVATE = "private, no-cache"
API = "/api/"


class PrivateResponses:
    """The middleware. A view that has stated how its response is cached knows better."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", PRIVATE)
        patch_vary_headers(response, ("Authorization", "Cookie") if request.path.startswith(API) else ("Cookie",))
        return response
