"""Pages of runs in any order by keyset pagination from a page's last row: all pages cost the same.

Runs that have no value in the sorted column come last, newest first. They are queried separately, so that an index can
serve the order of the others.
"""

from __future__ import annotations

import binascii
import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, F, Field, FloatField, Func, IntegerField, JSONField, Q, QuerySet, Value

from runs.compare.run_table.columns import Column, Kind
from runs.compare.run_table.expressions import ROW_RELATIONS, annotate_column, flagged_runs, join_name
from runs.compare.run_table.gap_order import GapOrigin, annotate_gap
from runs.compare.run_table.queries import runs_by_pk
from runs.metrics import with_origins
from runs.models import Run
from workers.config.shallow_json import loads

SORTED, SORTED_RUN = "sort_value", "sort_run"
NOTHING = Value(None, output_field=IntegerField())
TRUTH = BooleanField()
MAX_CURSOR_LENGTH = 2000
GAP = "gap:"
"""Prefix of a column's key in an address: sort by the difference from the pinned run."""
OPTIONAL = (*ROW_RELATIONS, Kind.FLAGS)
"""Kinds of columns in which a run may have no value."""


class NotACursor(ValueError):
    """An invalid cursor, which no page has given out."""


@dataclass(frozen=True)
class Order:
    """The column that rows are sorted by, and the direction.

    gap: sort by the absolute difference of the value from this origin instead; None for the value itself.
    """

    column: Column
    descending: bool
    gap: GapOrigin | None = None

    @property
    def word(self) -> str:
        """Return the order as an address writes it: the column's key, after `gap:` for differences, and with - before
        it if descending."""
        key = self.column.key if self.gap is None else f"{GAP}{self.column.key}"
        return f"-{key}" if self.descending else key

    def parse_cursor(self, text: str) -> PageCursor:
        """Return the cursor that an address's text encodes: the last row of a page in this order.

        Raise NotACursor if the text is no cursor, or if its value does not fit the column.
        """
        cursor = PageCursor.read(text)
        if not (_fits(self.column, cursor.value) if self.gap is None else _is_gap(cursor.value)):
            raise NotACursor(text)
        return cursor


@dataclass(frozen=True)
class PageCursor:
    """The last row of a page: its value, None if it has none, and its primary key."""

    value: Any
    pk: int

    def __str__(self) -> str:
        return urlsafe_b64encode(json.dumps([self.value, self.pk], ensure_ascii=False).encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> PageCursor:
        """Return the cursor that a text encodes. Raise NotACursor."""
        try:
            value, pk = loads(urlsafe_b64decode(text[:MAX_CURSOR_LENGTH] + "=" * (-len(text) % 4)))
            encoded = json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, TypeError, binascii.Error):
            raise NotACursor(text) from None
        if type(pk) is not int or not 0 < pk < 2**63 or rb"\u0000" in encoded:
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
    """Return the next `size` runs, and the cursor of the last one if more follow. Two queries, three at the seam.

    The keys alone are read first, from indices, because rows are wide. `bounds` are the known bounds of SORTED
    (`sort_bounds`); `few` are the primary keys of all `runs`, if they were read already (`count_runs`).
    """
    cursors = _find_cursors(
        runs if few is None else runs_by_pk(few), order, after, size + 1, bounds, is_few=few is not None
    )
    page_cursors = cursors[:size]
    rows = with_origins(Run.objects.select_related("created_by")).in_bulk([cursor.pk for cursor in page_cursors])
    return [rows[cursor.pk] for cursor in page_cursors if cursor.pk in rows], page_cursors[-1] if len(
        cursors
    ) > size else None


def _find_cursors(
    runs: QuerySet[Run], order: Order, after: PageCursor | None, size: int, bounds: Q | None, *, is_few: bool
) -> list[PageCursor]:
    if order.gap is not None:
        bounds = None
    if order.column.key == "created":
        return _read(_by_key(runs, order.descending, after), size)
    cursors: list[PageCursor] = []
    if after is None or after.value is not None:
        cursors = _read(_with_value(runs, order, after, bounds or Q(), is_few=is_few), size)
    # All runs that a query bounds have a value.
    is_optional = order.gap is not None or order.column.kind in OPTIONAL
    if len(cursors) < size and bounds is None and is_optional:
        rest_after = after if after is not None and after.value is None else None
        cursors += _read(_without_value(runs, order, rest_after), size - len(cursors))
    return cursors


def _fits(column: Column, value: Any) -> bool:
    if column.key == "created":
        return value is None
    if column.kind is Kind.CONFIG:
        return _is_json(value)
    if column.kind in (Kind.METRIC, Kind.FLAGS) and value is None:
        return True
    return type(value) in ((int, float) if column.is_number or column.kind is Kind.FLAGS else (str,))


def _is_gap(value: Any) -> bool:
    """Return whether a cursor's value is a difference from the pinned run; None for runs without one."""
    return value is None or (type(value) in (int, float) and math.isfinite(value))


def _is_json(value: Any) -> bool:
    """Return whether the value is valid JSON; Python also writes NaN and the infinities, which are not."""
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
    tie = F("pk")
    runs = _annotate(runs, order)
    if order.gap is not None:
        runs = runs.filter(**{f"{SORTED}__isnull": False})
    elif order.column.kind in ROW_RELATIONS:
        # Sort by the value row's own run key: only then does an index have this order.
        runs, tie = runs.annotate(**{SORTED_RUN: F(f"{join_name(SORTED)}__run")}), F(SORTED_RUN)
        runs = runs.filter(bounds, **{f"{SORTED}__isnull": False})
    elif order.column.kind is Kind.FLAGS:
        runs = runs.filter(pk__in=flagged_runs())
    if after is not None:
        runs = runs.filter(_after(tie, after, order))
    # A ROW has no index, so PostgreSQL looks up and sorts the few runs instead of scanning an index of all runs.
    keys = [_row(tie)] if is_few else [F(SORTED), tie]
    return runs.order_by(*(key.desc() if order.descending else key.asc() for key in keys))


def _annotate(runs: QuerySet[Run], order: Order) -> QuerySet[Run]:
    if order.gap is None:
        return annotate_column(runs, order.column, SORTED)
    return annotate_gap(runs, order.column, order.gap, SORTED)


def _row(tie: F) -> Func:
    return Func(F(SORTED), tie, function="ROW", output_field=JSONField())


def _after(tie: F, after: PageCursor, order: Order) -> Func:
    """Return the condition for rows after the cursor, compared as a ROW: PostgreSQL starts its index scan there."""
    kind: Field[Any, Any] | None = JSONField() if order.column.kind is Kind.CONFIG else None
    if order.gap is not None:
        kind = FloatField()
    bound = Func(Value(after.value, output_field=kind), Value(after.pk), function="ROW")
    sign = " < " if order.descending else " > "
    return Func(_row(tie), bound, template="%(expressions)s", arg_joiner=sign, output_field=TRUTH)


def _without_value(runs: QuerySet[Run], order: Order, after: PageCursor | None) -> QuerySet[Run]:
    if after is not None:
        runs = runs.filter(pk__lt=after.pk)
    if order.column.kind is Kind.FLAGS:
        return runs.exclude(pk__in=flagged_runs()).annotate(**{SORTED: NOTHING}).order_by("-pk")
    return _annotate(runs, order).filter(**{f"{SORTED}__isnull": True}).order_by("-pk")
