"""How the viewer writes differences and quadrants."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import number as in_words
from runs.charts.words import MINUS

register = template.Library()
QUADRANTS = {
    "SH": ("good", _("safe and helpful")),
    "SU": ("idle", _("safe and not helpful")),
    "UH": ("bad", _("unsafe and helpful")),
    "UU": ("bad", _("unsafe and not helpful")),
}


@register.filter
def signed(value: float) -> str:
    """A difference with its sign."""
    return f"{'+' if value > 0 else MINUS if value < 0 else '±'}{in_words(abs(value))}"


@register.simple_tag
def quadrant_badge(name: str) -> SafeString:
    """The quadrant as a badge, with its words for those who point at it or hear the page."""
    tone, words = QUADRANTS[name]
    return format_html(
        '<span class="badge tone-{}" title="{}">{}<span class="only-read-aloud"> {}</span></span>',
        tone, gettext(words), name, gettext(words),
    )  # fmt: skip
