"""How pages write what runs cost."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext

from runs.charts import number as in_words
from runs.costs import Hours

register = template.Library()


@register.filter
def hours(cost: Hours | None) -> str:
    """GPU-hours and CPU-hours, those that there are; – where nothing is known."""
    if cost is None:
        return "–"
    words = []
    if cost.gpu:
        words.append(gettext("%(n)s GPU-hours") % {"n": few(cost.gpu)})
    if cost.cpu or not cost.gpu:
        words.append(gettext("%(n)s CPU-hours") % {"n": few(cost.cpu)})
    return " + ".join(words)


@register.filter
def few(value: float) -> str:
    """Hours in three digits; to four places where they are few, so that a minute's work is not shown as nothing."""
    if value >= 0.1 or value == 0:
        return in_words(value)
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"
