"""What pages of runs show of judging. They ask for it; nothing of runs is told where it comes from."""

from judging.shown.answers import Judged

__all__ = ["Judged"]
