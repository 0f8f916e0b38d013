"""The web server's entry point. HTTP goes to Django once the sender of a body is known, plain pushes of records take a
faster path, and requests that hang on a frozen server are answered 503. WebSockets go to the consumers, for signed-in
users of allowed origins."""

from __future__ import annotations

import os

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")
django.setup(set_prefix=False)

# Models exist only once Django is set up.
from esweb.middleware.body_limits import BodyLimits  # noqa: E402
from esweb.middleware.fast_ingest import FastIngest  # noqa: E402
from esweb.middleware.outage_guard import OutageGuard  # noqa: E402
from esweb.middleware.socket_origins import SameOrigin  # noqa: E402
from esweb.middleware.sync_handler import SyncHandler  # noqa: E402
from runs.routing import websocket_urlpatterns  # noqa: E402


def make_application() -> ProtocolTypeRouter:
    """Return the application with the middleware of the present settings."""
    return ProtocolTypeRouter(
        {
            "http": OutageGuard(FastIngest(BodyLimits(SyncHandler()))),
            "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
        }
    )


application = make_application()
