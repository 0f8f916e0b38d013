"""Tables of runs: asked in one line, sorted, paged and grouped by any key, for pages and the API alike."""

from runs.tables.columns import DEFAULTS, NAME, SUMMARIES, Column, Kind, Vocabulary, config_keys, vocabulary
from runs.tables.conditions import bounding, matching
from runs.tables.finding import Found, find
from runs.tables.grouping import GroupRow, Spread, grouped, is_averaged
from runs.tables.language import OPERATORS, Problem, QueryError, Term, parse, quoted, without, written
from runs.tables.naming import exactly
from runs.tables.paging import SORTED, NotACursor, Order, PageCursor, page

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
