"""Who is told what, over websockets: the only sender, and the one subscription of a web process that listens."""

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
