"""Answers beside each other: a prompt a row, a run or a checkpoint a column; asked, sorted, paged by the database."""

from runs.viewer.asked import CHANGES, FLAGS, RANGES, SORTS, ResponseQuery, asked_of
from runs.viewer.columns import COLUMNS_AT_MOST, Column, Columns, columns_of
from runs.viewer.finding import ResponsePage, Row, Slow, find
from runs.viewer.kinds import categories
from runs.viewer.place import NotAPlace, ResponseCursor
from runs.viewer.sampling import points
from runs.viewer.summing import Sum, sums
from runs.viewer.telling import Chip, Picked, Teller, Told, chips, picked, tell

__all__ = [
    "CHANGES",
    "COLUMNS_AT_MOST",
    "FLAGS",
    "RANGES",
    "SORTS",
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
    "Sum",
    "Teller",
    "Told",
    "asked_of",
    "categories",
    "chips",
    "columns_of",
    "find",
    "picked",
    "points",
    "sums",
    "tell",
]
