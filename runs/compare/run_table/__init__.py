"""Tables of runs: filtered by a one-line query, sorted, paged and grouped by any key, for pages and the API."""

from runs.compare.run_table.columns import DEFAULTS, NAME, SUMMARIES, Column, Kind, Vocabulary, config_keys, vocabulary
from runs.compare.run_table.conditions import filter_by_terms, sort_bounds
from runs.compare.run_table.grouping import GroupRow, Spread, group_runs, is_averaged
from runs.compare.run_table.language import (
    OPERATORS,
    Problem,
    QueryError,
    Term,
    equality_term,
    format_term,
    parse,
    quote,
    remove_term,
)
from runs.compare.run_table.paging import SORTED, NotACursor, Order, PageCursor, page
from runs.compare.run_table.queries import RunCount, count_runs
from runs.compare.run_table.rows import Cell, Row, rows_of
from runs.compare.run_table.table import Heading, RunsTable, filter_runs, runs_table, steps_of
from runs.compare.run_table.table_query import apply_builder, parse_table_query

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
    "apply_builder",
    "config_keys",
    "count_runs",
    "equality_term",
    "filter_by_terms",
    "filter_runs",
    "format_term",
    "group_runs",
    "is_averaged",
    "page",
    "parse",
    "parse_table_query",
    "quote",
    "remove_term",
    "rows_of",
    "runs_table",
    "sort_bounds",
    "steps_of",
    "vocabulary",
]
