"""Live updates over websockets: publishing, and the one subscription per web process."""

from runs.metrics.live.consumer import LiveConsumer
from runs.metrics.live.hub import Box, Hub, Mail, hub
from runs.metrics.live.publish import News, publish_changed, publish_points

__all__ = [
    "Box",
    "Hub",
    "LiveConsumer",
    "Mail",
    "News",
    "hub",
    "publish_changed",
    "publish_points",
]
