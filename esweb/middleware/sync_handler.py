"""Django's ASGI handler with a synchronous chain of middleware, so that a request changes threads once.

Every view and middleware here is synchronous. Django's own handler runs the innermost step in the event loop, and
calls `process_view` and the log of refusals in threads, each time there and back: a sixth of the time of a short
response.
"""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponseBase


class SyncHandler(ASGIHandler):
    """The ASGI application of a site without asynchronous views."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Load the middleware as a WSGI server does, regardless of Django's argument."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request in the thread of its ThreadSensitiveContext."""
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)
