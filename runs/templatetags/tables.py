"""Template tag that draws a table."""

from __future__ import annotations

from typing import Any

from django import template

from runs.tables import Table, heads_html, rows_html

register = template.Library()


@register.inclusion_tag("includes/table.html")
def table(
    table: Table,
    label: str = "",
    css: str = "",
    region: str = "",
    caption: str = "",
    labelled_by: str = "",
    empty: str = "",
    has_row_heads: bool = True,
    is_stacked: bool = False,
) -> dict[str, Any]:
    """Draw a table that scrolls sideways.

    label: the name of the scrolling region for screen readers; or labelled_by: the id of the element that has it. css,
    region: classes of the table and of the region. empty: the text of a table without rows. has_row_heads: whether a
    column has the headings of the rows, the first unless another is marked. is_stacked: whether a narrow page stacks
    the cells of a row, each below its title.
    """
    columns = table.typed
    totals = [tuple("" if cell is None else cell for cell in table.total)] if table.total else []
    rows, total = (
        rows_html(columns, lines, has_row_heads=has_row_heads, is_stacked=is_stacked) for lines in (table.rows, totals)
    )
    return {
        "heads": heads_html(columns), "size": len(columns), "rows": rows, "total": total, "label": label,
        "labelled_by": labelled_by, "css": css, "region": region, "caption": caption, "empty": empty,
        "is_stacked": is_stacked,
    }  # fmt: skip
