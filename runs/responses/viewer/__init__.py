"""Answers beside each other: a prompt a row, a run or a checkpoint a column; asked, sorted, paged by the database."""

from runs.responses.viewer.annotations import AnnotationField, AnnotationSource, Chip, Picked, Sql, chips, picked, tell
from runs.responses.viewer.categories import categories
from runs.responses.viewer.columns import COLUMNS_AT_MOST, SPLIT, Column, Columns, columns_of
from runs.responses.viewer.cursor import NotAPlace, ResponseCursor
from runs.responses.viewer.expressions import complexity_problem
from runs.responses.viewer.queries import ResponsePage, Row, Slow, Sum, find, points, sums
from runs.responses.viewer.response_query import CHANGES, FLAGS, RANGES, SORTS, TEXT_AT_MOST, ResponseQuery, asked_of

__all__ = [
    "CHANGES",
    "COLUMNS_AT_MOST",
    "FLAGS",
    "RANGES",
    "SORTS",
    "SPLIT",
    "TEXT_AT_MOST",
    "AnnotationField",
    "AnnotationSource",
    "Chip",
    "Column",
    "Columns",
    "NotAPlace",
    "Picked",
    "ResponseCursor",
    "ResponsePage",
    "ResponseQuery",
    "Row",
    "Slow",
    "Sql",
    "Sum",
    "asked_of",
    "categories",
    "chips",
    "columns_of",
    "complexity_problem",
    "find",
    "picked",
    "points",
    "sums",
    "tell",
]
