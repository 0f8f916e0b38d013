"""What pages of runs show of judging. They ask for it; nothing of runs is told where it comes from."""

from judging.viewer_integration.annotations import Judged
from judging.viewer_integration.views import Placed, placed

__all__ = ["Judged", "Placed", "placed"]
