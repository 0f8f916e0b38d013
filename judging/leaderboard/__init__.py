"""What people are told of ratings: everything about a criterion at once, and the same as text."""

from judging.leaderboard.by_category import by_category
from judging.leaderboard.report import Online, Report, report
from judging.leaderboard.text import text

__all__ = ["Online", "Report", "by_category", "report", "text"]
