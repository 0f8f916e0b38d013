"""Reports on ratings: all statistics of a criterion, as values and as text."""

from judging.boards.report.by_category import rate_by_category
from judging.boards.report.report import Online, Report, build_report
from judging.boards.report.text import report_text

__all__ = ["Online", "Report", "build_report", "rate_by_category", "report_text"]
