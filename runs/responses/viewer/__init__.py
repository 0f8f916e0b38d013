"""Comparison of responses: a row per prompt, a column per run or checkpoint; filtered and sorted by the database."""

from runs.responses.viewer.annotations import (
    AnnotationField,
    AnnotationSource,
    Chip,
    PickOptions,
    Sql,
    chips,
    picked,
    register_source,
)
from runs.responses.viewer.categories import categories
from runs.responses.viewer.columns import MAX_COLUMNS, SPLIT, Column, Columns, columns_of
from runs.responses.viewer.cursor import InvalidCursor, ResponseCursor
from runs.responses.viewer.expressions import complexity_problem
from runs.responses.viewer.queries import ColumnSummary, QueryFailed, ResponsePage, Row, find, points, sums
from runs.responses.viewer.response_query import (
    CHANGES,
    FLAGS,
    MAX_TEXT_LENGTH,
    RANGES,
    SORTS,
    ResponseQuery,
    parse_response_query,
)

__all__ = [
    "CHANGES",
    "FLAGS",
    "MAX_COLUMNS",
    "MAX_TEXT_LENGTH",
    "RANGES",
    "SORTS",
    "SPLIT",
    "AnnotationField",
    "AnnotationSource",
    "Chip",
    "Column",
    "ColumnSummary",
    "Columns",
    "InvalidCursor",
    "PickOptions",
    "QueryFailed",
    "ResponseCursor",
    "ResponsePage",
    "ResponseQuery",
    "Row",
    "Sql",
    "categories",
    "chips",
    "columns_of",
    "complexity_problem",
    "find",
    "parse_response_query",
    "picked",
    "points",
    "register_source",
    "sums",
]
