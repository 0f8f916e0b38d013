"""Tables of runs: asked in one line, sorted, paged and grouped by any key, for pages and the API alike."""

from runs.compare.run_table.columns import DEFAULTS, NAME, SUMMARIES, Column, Kind, Vocabulary, config_keys, vocabulary
from runs.compare.run_table.conditions import bounding, matching
from runs.compare.run_table.grouping import GroupRow, Spread, grouped, is_averaged
from runs.compare.run_table.language import (
    OPERATORS,
    Problem,
    QueryError,
    Term,
    exactly,
    parse,
    quoted,
    without,
    written,
)
from runs.compare.run_table.paging import SORTED, NotACursor, Order, PageCursor, page
from runs.compare.run_table.queries import Found, find

__all__ = [
    "DEFAULTS",
    "NAME",
    "OPERATORS",
    "SORTED",
    "SUMMARIES",
    "Column",
    "Found",
    "GroupRow",
    "Kind",
    "NotACursor",
    "Order",
    "PageCursor",
    "Problem",
    "QueryError",
    "Spread",
    "Term",
    "Vocabulary",
    "bounding",
    "config_keys",
    "exactly",
    "find",
    "grouped",
    "is_averaged",
    "matching",
    "page",
    "parse",
    "quoted",
    "vocabulary",
    "without",
    "written",
]
