"""Format the differences of a comparison, and carry its parameters from one address to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from runs import metrics
from runs.charts import MINUS, THIN, Group, Mark, number, share
from runs.compare import Cell, distinct_names
from runs.launching.config_form import SETTINGS, short_text
from runs.metrics import Provenance
from runs.models import Run
from workers.config.methods import short_title

register = template.Library()

MIN_PRINTED_P = 0.001


@register.filter
def ways_in_words(ways: Iterable[Provenance]) -> str:
    """Describe how values were measured."""
    return metrics.ways_in_words(ways)


@register.filter
def with_labels(marks: Sequence[Mark]) -> list[tuple[Mark, str]]:
    """Return each run's mark with what distinguishes its name from the others'."""
    return list(zip(marks, distinct_names([mark.run.name for mark in marks]), strict=True))


@register.filter
def with_run_labels(runs: Sequence[Run]) -> list[tuple[Run, str]]:
    """Return each run with what distinguishes its name from the others'."""
    return list(zip(runs, distinct_names([run.name for run in runs]), strict=True))


@register.simple_tag
def short_name(name: str, label: str) -> SafeString:
    """Return a name as HTML: its label to look at, and the whole name to be read aloud."""
    if name == label:
        return format_html("{}", name)
    return format_html('<span aria-hidden="true">{}</span><span class="only-read-aloud">{}</span>', label, name)


@register.simple_tag
def setting_value(path: str, value: str) -> SafeString:
    """Return a setting's JSON value as HTML; a list of sections in words, and its JSON as the title."""
    setting = SETTINGS.get(path)
    short = None if setting is None or setting.section is None else short_text(setting, json.loads(value))
    if short is None:
        return format_html("<code>{}</code>", value)
    return format_html('<code title="{}">{}</code>', value, short)


@register.filter
def of_group(marks: Iterable[Mark], group: Group) -> list[Mark]:
    """Return the marks of a group's runs."""
    return [mark for mark in marks if mark.group.slug == group.slug]


@register.filter
def method_name(method: str) -> str:
    """Return the name of a method as pages write it."""
    return short_title(method)


@register.filter
def mean(cell: Cell) -> str:
    """Format the mean of the seeds."""
    return _value_format(cell)(cell.mean or 0.0)


@register.filter
def spread(cell: Cell) -> str:
    """Format the seeds' own standard deviation."""
    return _distance_format(cell)(cell.std or 0.0)


@register.filter
def difference(cell: Cell) -> str:
    """Format the difference from the baseline with its sign; differences of shares are in percentage points."""
    if cell.delta is None:
        return ""
    value = cell.delta.difference
    sign = "+" if value > 0 else MINUS if value < 0 else ""
    return f"{sign}{_distance_format(cell)(abs(value))}"


@register.filter
def difference_test(cell: Cell) -> str:
    """State the p-values of the difference, with the tests and the numbers of seeds, or why there is none."""
    delta = cell.delta
    if delta is None:
        return ""
    if min(delta.n, delta.base_n) < 2:
        return gettext("no test: only one seed on a side")
    params = {"n": delta.n, "base_n": delta.base_n}
    if delta.welch is None:
        text = gettext("no t test: the seeds of each side are equal (n = %(n)s + %(base_n)s)") % params
    else:
        text = gettext("%(p)s (Welch's t, n = %(n)s + %(base_n)s)") % {**params, "p": _p_value(delta.welch)}
    if delta.permutation is None:
        return text
    return gettext("%(text)s; permutation %(p)s") % {"text": text, "p": _p_value(delta.permutation)}


def _p_value(p: float) -> str:
    return f"p < {MIN_PRINTED_P}" if p < MIN_PRINTED_P else f"p = {number(p, 2)}"


@register.filter
def until(at: datetime) -> str:
    """Format a time to the minute, in an unambiguous form."""
    utc_time = at.astimezone(UTC)
    text = f"{utc_time:%Y-%m-%d %H:%M} UTC"
    return format_html('<time datetime="{}">{}</time>', utc_time.isoformat(timespec="seconds"), text)


@register.simple_tag(takes_context=True)
def carried_on(context: Context, *without: str) -> SafeString:
    """Return the address's parameters as hidden fields, for a form that changes one of them."""
    lists = context["request"].GET.lists()
    pairs = [(name, value) for name, values in lists if name not in without for value in values]
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', pairs)


@register.simple_tag(takes_context=True)
def with_runs(context: Context, marks: Iterable[Mark], uids: Iterable[str]) -> str:
    """Return the address with these runs added to the displayed ones."""
    query = context["request"].GET.copy()
    for name in ("experiment", "q"):
        query.pop(name, None)
    query.setlist("run", [*(mark.run.uid for mark in marks), *uids])
    query["show"] = "all"
    return f"?{query.urlencode()}"


@register.simple_tag
def of_runs(uids: Sequence[str]) -> str:
    """Return the query of an address that names these runs."""
    return f"?{urlencode({'run': list(uids)}, doseq=True)}"


def _value_format(cell: Cell) -> Callable[[float], str]:
    return share if cell.outcome.is_share else number


def _distance_format(cell: Cell) -> Callable[[float], str]:
    """Return the function that formats a distance: in percentage points between two shares, else as a number."""
    return _points if cell.outcome.is_share else number


def _points(value: float) -> str:
    return gettext("%(n)s points").replace(" ", THIN) % {"n": number(100 * value, 2)}
