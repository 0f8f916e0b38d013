"""What pages of runs show of judging. They ask for it; nothing of runs is told where it comes from."""

from judging.shown.answers import Judged
from judging.shown.ratings import Placed, placed

__all__ = ["Judged", "Placed", "placed"]
