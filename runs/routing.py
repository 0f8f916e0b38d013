"""Addresses of WebSockets."""

from django.urls import path

from runs.metrics.live import LiveConsumer

websocket_urlpatterns = [path("ws/live", LiveConsumer.as_asgi())]
