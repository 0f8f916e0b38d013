"""Format the differences of a comparison, and carry its parameters from one address to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from django import template
from django.template import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from runs import metrics
from runs.charts import MINUS, THIN, Mark, number, share
from runs.compare import Cell
from runs.metrics import Provenance

register = template.Library()


@register.filter
def ways_in_words(ways: Iterable[Provenance]) -> str:
    """Describe how values were measured, for people."""
    return metrics.ways_in_words(ways)


@register.filter
def mean(cell: Cell) -> str:
    """The mean of the seeds."""
    return _written(cell)(cell.mean or 0.0)


@register.filter
def spread(cell: Cell) -> str:
    """The seeds' own standard deviation."""
    return _size(cell)(cell.std or 0.0)


@register.filter
def difference(cell: Cell) -> str:
    """The difference to the baseline with its sign; of shares in percentage points."""
    if cell.delta is None:
        return ""
    value = cell.delta.difference
    sign = "+" if value > 0 else MINUS if value < 0 else ""
    return f"{sign}{_size(cell)(abs(value))}"


@register.filter
def verdict(cell: Cell) -> str:
    """Say whether the difference exceeds the seeds' spread, in words that claim no more than the seeds say."""
    found = cell.delta
    if found is None:
        return ""
    if found.spread is None:
        return gettext("spread unknown: one seed on a side")
    held = gettext("exceeds the seeds' spread") if found.exceeds else gettext("within the seeds' spread")
    if found.times is not None:
        held += f" ({number(found.times, 2)} × {_size(cell)(found.spread)})"
    if found.apart:
        return gettext("%(held)s; apart, by chance 1 in %(n)s") % {"held": held, "n": round(1 / found.chance)}
    return gettext("%(held)s; seeds overlap") % {"held": held}


@register.filter
def until(at: datetime) -> str:
    """A moment to the minute, in words that anybody reads alike."""
    moment = at.astimezone(UTC)
    said = f"{moment:%Y-%m-%d %H:%M} UTC"
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(timespec="seconds"), said)


@register.simple_tag(takes_context=True)
def carried_on(context: Context, *without: str) -> SafeString:
    """The address's parameters as hidden fields, for a form that changes one of them."""
    lists = context["request"].GET.lists()
    pairs = [(name, value) for name, values in lists if name not in without for value in values]
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', pairs)


@register.simple_tag(takes_context=True)
def with_runs(context: Context, marks: Iterable[Mark], uids: Iterable[str]) -> str:
    """The address with these runs added to those that are shown."""
    query = context["request"].GET.copy()
    for name in ("experiment", "q"):
        query.pop(name, None)
    query.setlist("run", [*(mark.run.uid for mark in marks), *uids])
    query["show"] = "all"
    return f"?{query.urlencode()}"


def _written(cell: Cell) -> Callable[[float], str]:
    return share if cell.outcome.is_share else number


def _size(cell: Cell) -> Callable[[float], str]:
    """Return the function that formats a distance: in percentage points between two shares, else as a number."""
    return _points if cell.outcome.is_share else number


def _points(value: float) -> str:
    return gettext("%(n)s points").replace(" ", THIN) % {"n": number(100 * value, 2)}
