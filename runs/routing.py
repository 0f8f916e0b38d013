"""WebSocket addresses."""

from django.urls import path

from runs.metrics.live.consumer import LiveConsumer

websocket_urlpatterns = [path("ws/live", LiveConsumer.as_asgi())]
