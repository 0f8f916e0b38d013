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
from runs.compare.run_table.queries import RunCount, find
from runs.compare.run_table.rows import Cell, Row, rows_of
from runs.compare.run_table.table import Heading, RunsTable, fitting, runs_table, steps_of
from runs.compare.run_table.table_query import asked_of, built

__all__ = [
    "DEFAULTS",
    "NAME",
    "OPERATORS",
    "SORTED",
    "SUMMARIES",
    "Cell",
    "Column",
    "GroupRow",
    "Heading",
    "Kind",
    "NotACursor",
    "Order",
    "PageCursor",
    "Problem",
    "QueryError",
    "Row",
    "RunCount",
    "RunsTable",
    "Spread",
    "Term",
    "Vocabulary",
    "asked_of",
    "bounding",
    "built",
    "config_keys",
    "exactly",
    "find",
    "fitting",
    "grouped",
    "is_averaged",
    "matching",
    "page",
    "parse",
    "quoted",
    "rows_of",
    "runs_table",
    "steps_of",
    "vocabulary",
    "without",
    "written",
]
