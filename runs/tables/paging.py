"""Pages of runs in any order, each found from the last row of the one before: the thousandth costs what the first does.

Runs that have no value in the sorted column come last, newest first. They are a part of their own, so that an index
can serve the order of the others.
"""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet

from runs.models import Run
from runs.tables.columns import Column, Kind
from runs.tables.expressions import annotated

SORTED = "sort_value"
LONGEST_PLACE = 1000


class NotACursor(ValueError):
    """A place in a list that no page of ours has given out."""


@dataclass(frozen=True)
class Order:
    """The column that rows are sorted by, and which way."""

    column: Column
    descending: bool

    @property
    def word(self) -> str:
        """As an address has it."""
        return f"-{self.column.key}" if self.descending else self.column.key


@dataclass(frozen=True)
class Place:
    """The last row of a page: its value, None where it has none, and its primary key."""

    value: Any
    pk: int

    def __str__(self) -> str:
        return urlsafe_b64encode(json.dumps([self.value, self.pk]).encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> Place:
        """Raises NotACursor."""
        try:
            value, pk = json.loads(urlsafe_b64decode(text[:LONGEST_PLACE] + "=" * (-len(text) % 4)))
        except (ValueError, TypeError, binascii.Error, RecursionError):
            raise NotACursor(text) from None
        if type(pk) is not int or not 0 < pk < 2**63 or isinstance(value, bool | list):
            raise NotACursor(text)
        return cls(value, pk)


def page(runs: QuerySet[Run], order: Order, after: Place | None, size: int) -> tuple[list[Run], Place | None]:
    """The next `size` runs, and the place of the last of them where more follow. One query, two at the seam."""
    found: list[Run] = []
    if order.column.key == "created":
        found = list(_by_key(runs, order.descending, after)[: size + 1])
    else:
        if after is None or after.value is not None:
            found = list(_with_value(runs, order, after)[: size + 1])
        if len(found) <= size:
            rest = after if after is not None and after.value is None else None
            found += _without_value(runs, order, rest)[: size + 1 - len(found)]
    shown = found[:size]
    return shown, _place(shown[-1], order) if len(found) > size else None


def _by_key(runs: QuerySet[Run], descending: bool, after: Place | None) -> QuerySet[Run]:
    if after is not None:
        runs = runs.filter(**{"pk__lt" if descending else "pk__gt": after.pk})
    return runs.order_by("-pk" if descending else "pk")


def _with_value(runs: QuerySet[Run], order: Order, after: Place | None) -> QuerySet[Run]:
    runs = annotated(runs, order.column, SORTED).filter(**{f"{SORTED}__isnull": False})
    if after is not None:
        beyond = "lt" if order.descending else "gt"
        later = Q(**{f"{SORTED}__{beyond}": after.value}) | Q(**{SORTED: after.value, f"pk__{beyond}": after.pk})
        runs = runs.filter(later)
    if order.descending:
        return runs.order_by(F(SORTED).desc(), "-pk")
    return runs.order_by(F(SORTED).asc(), "pk")


def _without_value(runs: QuerySet[Run], order: Order, after: Place | None) -> QuerySet[Run]:
    if order.column.kind not in (Kind.METRIC, Kind.CONFIG):
        return runs.none()
    if after is not None:
        runs = runs.filter(pk__lt=after.pk)
    return annotated(runs, order.column, SORTED).filter(**{f"{SORTED}__isnull": True}).order_by("-pk")


def _place(run: Run, order: Order) -> Place:
    return Place(None if order.column.key == "created" else getattr(run, SORTED), run.pk)
