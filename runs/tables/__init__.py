"""Tables: columns and typed cells, drawn on pages, as CSV, as LaTeX and as text."""

from runs.tables.html import cell_html, heads_html, rows_html
from runs.tables.latex import latex
from runs.tables.numbers import COUNTS, MINUS, PLAIN, SHARES, THIN, NumberStyle, count, number, share
from runs.tables.table import (
    NONE,
    Absent,
    Badge,
    Cell,
    Code,
    Column,
    Drawing,
    Interval,
    Link,
    Mean,
    Note,
    Ranks,
    Table,
)
from runs.tables.text import format_table, table_text

__all__ = [
    "COUNTS",
    "MINUS",
    "NONE",
    "PLAIN",
    "SHARES",
    "THIN",
    "Absent",
    "Badge",
    "Cell",
    "Code",
    "Column",
    "Drawing",
    "Interval",
    "Link",
    "Mean",
    "Note",
    "NumberStyle",
    "Ranks",
    "Table",
    "cell_html",
    "count",
    "format_table",
    "heads_html",
    "latex",
    "number",
    "rows_html",
    "share",
    "table_text",
]
