"""What people are told of ratings: everything about a criterion at once, and the same as text."""

from judging.boards.report.by_category import by_category
from judging.boards.report.report import Online, Report, report
from judging.boards.report.text import text

__all__ = ["Online", "Report", "by_category", "report", "text"]
