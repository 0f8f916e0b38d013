"""Cells of tables as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from runs.metrics import Provenance
from runs.tables.numbers import count
from runs.tables.table import NONE, Absent, Badge, Cell, Code, Column, Drawing, Interval, Link, Mean, Note

QUIET = '<span class="quiet">{}</span>'
BADGE = '<span class="badge tone-{}">{}{}</span>'
SIGN = '<span class="sign" aria-hidden="true">{}</span>'
SMALL = '<small class="quiet">{}</small>'


def heads_html(columns: Iterable[Column]) -> SafeString:
    """Return the cells of a table's head."""
    return format_html_join("", "{}", ((_head(column),) for column in columns))


def _head(column: Column) -> SafeString:
    content = column.heading if column.head is None else cell_html(column, column.head)
    if not content:
        return SafeString("<td></td>")
    classes = "" if column.is_text else SafeString(' class="number"')
    title = format_html(' title="{}"', column.help) if column.help else ""
    read_aloud = format_html('<span class="only-read-aloud"> {}</span>', column.read_aloud) if column.read_aloud else ""
    return format_html('<th scope="col"{}{}>{}{}</th>', classes, title, content, read_aloud)


def rows_html(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, has_row_heads: bool = True, is_stacked: bool = False
) -> SafeString:
    """Return rows of a table. has_row_heads, is_stacked: as the tag `table` has them."""
    head = next((place for place, column in enumerate(columns) if column.is_row_head), 0) if has_row_heads else -1
    tags = [_tag(column, place == head, is_stacked) for place, column in enumerate(columns)]
    start = '<tr role="row">' if is_stacked else "<tr>"
    drawn_rows = ("".join(_drawn(*cell) for cell in zip(columns, row, tags, strict=True)) for row in rows)
    return SafeString("".join(f"{start}{drawn_row}</tr>\n" for drawn_row in drawn_rows))


def _tag(column: Column, is_head: bool, is_stacked: bool) -> tuple[str, str]:
    """Return the tag of a column's cells, and its attributes but the class; a badge needs no title."""
    tag, attributes, role = ("th", ' scope="row"', "rowheader") if is_head else ("td", "", "cell")
    if is_stacked:
        title = "" if column.kind is Badge else format_html(' data-label="{}"', column.heading)
        attributes += f' role="{role}"{title}'
    return tag, attributes


def _drawn(column: Column, cell: Cell, opening: tuple[str, str]) -> str:
    tag, attributes = opening
    classes = "number" if not column.is_text and tag == "td" else ""
    if column.tint:
        classes = f"{classes} {column.tint(cell)}".strip()
    drawn_class = f' class="{classes}"' if classes else ""
    return f"<{tag}{attributes}{drawn_class}>{cell_html(column, cell)}</{tag}>"


def cell_html(column: Column, cell: Cell) -> SafeString:
    """Return the content of a cell: a number as the column writes it, with its interval and number of observations."""
    match cell:
        case None:
            return conditional_escape(NONE)
        case int() | float():
            return _number(column, cell)
        case Interval(value, low, high, n):
            ends = column.style.interval(low, high)
            of = "" if n is None else gettext("of %(n)s") % {"n": count(n)}
            return _number(column, value) + format_html_join("", " " + SMALL, ((text,) for text in (ends, of) if text))
        case Mean(value, width):
            more = "" if width is None else f" ± {column.style.page(width)}"
            return _number(column, value) + conditional_escape(more)
        case Badge(text, tone, sign):
            drawn_sign = format_html(SIGN, sign) if sign else ""
            return format_html(BADGE, tone, drawn_sign, text) if tone else format_html(QUIET, text)
        case Link(text, url):
            return format_html('<a href="{}">{}</a>', url, text)
        case Code(text, help_text):
            return format_html("<code{}>{}</code>", _title(help_text), text)
        case Note(text):
            return format_html(SMALL, text)
        case Drawing(html):
            return html
        case tuple():
            return format_html_join(" ", "{}", ((cell_html(column, part),) for part in cell))
        case Absent(reason, help=help_text):
            quiet = format_html('<span class="quiet"{}>{}</span>', _title(help_text), reason)
            return quiet if reason else SafeString('<span aria-hidden="true">·</span>')
        case Provenance():
            return conditional_escape(cell.words)
    return conditional_escape(str(cell))


def _title(text: str) -> str:
    return format_html(' title="{}"', text) if text else ""


def _number(column: Column, value: float | None) -> SafeString:
    text = NONE if value is None else column.style.page(value)
    return format_html("<strong>{}</strong>", text) if column.is_strong else conditional_escape(text)
