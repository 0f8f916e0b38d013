"""WebSocket addresses."""

from django.urls import path

from runs.consumers import LiveConsumer

websocket_urlpatterns = [path("ws/live", LiveConsumer.as_asgi())]
