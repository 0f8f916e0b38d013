"""Decide which pages may open a WebSocket: those of this site's own origin, and those of CSRF_TRUSTED_ORIGINS.

Browsers send cookies with a WebSocket to any address and ask no server beforehand, so the Origin header decides, by the
rule that Django's CSRF check has for forms: scheme, host and port must be those of the request.
"""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.http import is_same_domain

SCHEMES = {"ws": "http", "wss": "https"}


class SameOrigin:
    """Pass a WebSocket on to `application` if its page is of an allowed origin; else answer 403."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_allowed = may_connect(scope)
        await (self.application if is_allowed else WebsocketDenier())(scope, receive, send)


def may_connect(scope: Any) -> bool:
    """Return whether the Origin header of this WebSocket names an allowed origin. One without the header is refused."""
    request = ASGIRequest({**scope, "method": "GET", "scheme": SCHEMES.get(scope.get("scheme"), "http")}, io.BytesIO())
    origin = request.META.get("HTTP_ORIGIN", "")
    try:
        own = f"{request.scheme}://{request.get_host()}"
    except DisallowedHost:
        return False
    return bool(origin) and (origin == own or _is_trusted(origin))


def _is_trusted(origin: str) -> bool:
    """Return whether CSRF_TRUSTED_ORIGINS names this origin, or a pattern such as https://*.example.org fits it."""
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    try:
        page = urlsplit(origin)
    except ValueError:
        return False
    patterns = CsrfViewMiddleware(lambda request: None).allowed_origin_subdomains.get(page.scheme, ())  # type: ignore[arg-type]
    return any(is_same_domain(page.netloc, pattern) for pattern in patterns)
