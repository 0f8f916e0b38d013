"""Tables of runs: filtered by a one-line query, sorted, paged and grouped by any key, for pages and the API."""

from runs.compare.run_table.columns import NAME, SUMMARIES, Column, Kind
from runs.compare.run_table.conditions import filter_by_terms, sort_bounds
from runs.compare.run_table.files import data_table, notes, paper_table
from runs.compare.run_table.gap_order import GapOrigin
from runs.compare.run_table.grouping import GroupRow, group_runs
from runs.compare.run_table.headings import Heading
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
from runs.compare.run_table.rows import Cell, Gap, Row, rows_of
from runs.compare.run_table.spreads import SPREADS, Spread
from runs.compare.run_table.step_values import MAX_STEP_RUNS
from runs.compare.run_table.table import GroupTableRow, RunsTable, filter_runs, runs_table, steps_of
from runs.compare.run_table.table_query import MAX_EXPORTED_ROWS, apply_builder, parse_table_query
from runs.compare.run_table.vocabulary import Vocabulary, config_keys, vocabulary

__all__ = [
    "MAX_EXPORTED_ROWS",
    "MAX_STEP_RUNS",
    "NAME",
    "OPERATORS",
    "SORTED",
    "SPREADS",
    "SUMMARIES",
    "Cell",
    "Column",
    "Gap",
    "GapOrigin",
    "GroupRow",
    "GroupTableRow",
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
    "data_table",
    "equality_term",
    "filter_by_terms",
    "filter_runs",
    "format_term",
    "group_runs",
    "notes",
    "page",
    "paper_table",
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
