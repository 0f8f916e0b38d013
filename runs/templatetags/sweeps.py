"""Explain missing values of a sweep."""

from __future__ import annotations

from collections.abc import Iterable

from django import template

from runs.launching.sweeps.table import CellRow, explain_absence

register = template.Library()


@register.filter
def without_values(rows: Iterable[CellRow], key: str) -> str:
    """Return why the cells have no mean of the metric of this key."""
    return explain_absence(rows, key)


@register.filter
def are_open(rows: Iterable[CellRow]) -> bool:
    """Return whether a run of these cells may still record values."""
    return any(row.summary.is_open for row in rows)
