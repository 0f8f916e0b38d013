"""Pages of runs in any order, each found from the last row of the one before: the thousandth costs what the first does.

Runs that have no value in the sorted column come last, newest first. They are a part of their own, so that an index
can serve the order of the others.
"""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db.models import BooleanField, F, Func, IntegerField, JSONField, Q, QuerySet, Value
from django.db.models.expressions import CombinedExpression

from runs.compare.run_table.columns import Column, Kind
from runs.compare.run_table.expressions import KEPT, annotated, relation_of
from runs.compare.run_table.queries import those
from runs.metrics import with_origins
from runs.models import Run
from workers.config.shallow_json import loads

SORTED, SORTED_RUN = "sort_value", "sort_run"
NOTHING = Value(None, output_field=IntegerField())
TRUTH = BooleanField()
Tie: TypeAlias = F | CombinedExpression
LONGEST_PLACE = 2000


class NotACursor(ValueError):
    """A place in a list that no page of ours has given out."""


@dataclass(frozen=True)
class Order:
    """The column that rows are sorted by, and which way."""

    column: Column
    descending: bool

    @property
    def word(self) -> str:
        """Return the order as an address writes it: the column's key, with - before it if descending."""
        return f"-{self.column.key}" if self.descending else self.column.key

    def place(self, text: str) -> PageCursor:
        """Return the cursor that an address's text encodes: the last row of a page in this order.

        Raise NotACursor if the text is no cursor, or if its value does not fit the column.
        """
        found = PageCursor.read(text)
        if not _fits(self.column, found.value):
            raise NotACursor(text)
        return found


@dataclass(frozen=True)
class PageCursor:
    """The last row of a page: its value, None where it has none, and its primary key."""

    value: Any
    pk: int

    def __str__(self) -> str:
        return urlsafe_b64encode(json.dumps([self.value, self.pk], ensure_ascii=False).encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> PageCursor:
        """Raises NotACursor."""
        try:
            value, pk = loads(urlsafe_b64decode(text[:LONGEST_PLACE] + "=" * (-len(text) % 4)))
            written = json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, TypeError, binascii.Error):
            raise NotACursor(text) from None
        if type(pk) is not int or not 0 < pk < 2**63 or rb"\u0000" in written:
            raise NotACursor(text)
        return cls(value, pk)


def page(
    runs: QuerySet[Run],
    order: Order,
    after: PageCursor | None,
    size: int,
    bounds: Q | None = None,
    few: Sequence[int] | None = None,
) -> tuple[list[Run], PageCursor | None]:
    """The next `size` runs, and the place of the last of them where more follow. Two queries, three at the seam.

    First the keys alone are found, from indices: rows are wide. `bounds` is what is known of SORTED (`bounding`); `few`
    are the primary keys of all `runs`, where they are known already (`find`).
    """
    found = _found(runs if few is None else those(few), order, after, size + 1, bounds, is_few=few is not None)
    shown = found[:size]
    rows = with_origins(Run.objects.select_related("created_by")).in_bulk([place.pk for place in shown])
    return [rows[place.pk] for place in shown if place.pk in rows], shown[-1] if len(found) > size else None


def _found(
    runs: QuerySet[Run], order: Order, after: PageCursor | None, size: int, bounds: Q | None, *, is_few: bool
) -> list[PageCursor]:
    if order.column.key == "created":
        return _read(_by_key(runs, order.descending, after), size)
    found: list[PageCursor] = []
    if after is None or after.value is not None:
        found = _read(_with_value(runs, order, after, bounds or Q(), is_few=is_few), size)
    # Of what a query asks to be in bounds, all has a value.
    if len(found) < size and bounds is None and order.column.kind in KEPT:
        rest = after if after is not None and after.value is None else None
        found += _read(_without_value(runs, order, rest), size - len(found))
    return found


def _fits(column: Column, value: Any) -> bool:
    if column.key == "created":
        return value is None
    if column.kind is Kind.CONFIG:
        return _is_json(value)
    if column.kind is Kind.METRIC and value is None:
        return True
    return type(value) in ((int, float) if column.is_number else (str,))


def _is_json(value: Any) -> bool:
    """False of what Python writes and reads beyond JSON: NaN and the infinities."""
    try:
        return bool(json.dumps(value, allow_nan=False))
    except ValueError:
        return False


def _read(runs: QuerySet[Run], size: int) -> list[PageCursor]:
    return [PageCursor(value, pk) for value, pk in runs.values_list(SORTED, "pk")[:size]]


def _by_key(runs: QuerySet[Run], descending: bool, after: PageCursor | None) -> QuerySet[Run]:
    if after is not None:
        runs = runs.filter(**{"pk__lt" if descending else "pk__gt": after.pk})
    return runs.annotate(**{SORTED: NOTHING}).order_by("-pk" if descending else "pk")


def _with_value(
    runs: QuerySet[Run], order: Order, after: PageCursor | None, bounds: Q, *, is_few: bool
) -> QuerySet[Run]:
    tie: Tie = F("pk")
    runs = annotated(runs, order.column, SORTED)
    if order.column.kind in KEPT:
        # The row's own key of its run: only then is the order that of an index.
        runs, tie = runs.annotate(**{SORTED_RUN: F(f"{relation_of(SORTED)}__run")}), F(SORTED_RUN)
        runs = runs.filter(bounds, **{f"{SORTED}__isnull": False})
    elif not order.descending:
        # Newest first among equals, as they are read: a sort for the first few then seldom changes its mind.
        tie = -tie
    if after is not None:
        runs = runs.filter(_beyond(tie, after, order))
    # A row has no index, so that a few runs are looked up and sorted, and not come upon along an index of all.
    keys = [_row(tie)] if is_few else [F(SORTED), tie]
    return runs.order_by(*(key.desc() if order.descending else key.asc() for key in keys))


def _row(tie: Tie) -> Func:
    return Func(F(SORTED), tie, function="ROW", output_field=JSONField())


def _beyond(tie: Tie, after: PageCursor, order: Order) -> Func:
    """Compared as a row: PostgreSQL begins to read its index there."""
    kind = JSONField() if order.column.kind is Kind.CONFIG else None
    pk = after.pk if isinstance(tie, F) else -after.pk
    there = Func(Value(after.value, output_field=kind), Value(pk), function="ROW")
    sign = " < " if order.descending else " > "
    return Func(_row(tie), there, template="%(expressions)s", arg_joiner=sign, output_field=TRUTH)


def _without_value(runs: QuerySet[Run], order: Order, after: PageCursor | None) -> QuerySet[Run]:
    if after is not None:
        runs = runs.filter(pk__lt=after.pk)
    return annotated(runs, order.column, SORTED).filter(**{f"{SORTED}__isnull": True}).order_by("-pk")
