"""Pages that follow one another by cursor: the last row's key, so that what is made meanwhile shifts nothing."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def page(
    rows: QuerySet[Row], cursor: int | None, limit: int, *, newest_first: bool = True
) -> tuple[list[Row], int | None]:
    """The rows after the cursor, by primary key, and the cursor of the next page; None where this is the last."""
    if cursor is not None:
        rows = rows.filter(**{"pk__lt" if newest_first else "pk__gt": cursor})
    found = list(rows.order_by("-pk" if newest_first else "pk")[: limit + 1])
    return found[:limit], found[limit - 1].pk if len(found) > limit else None
