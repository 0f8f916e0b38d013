"""Format numbers, times, states, hours, differences and notes for pages. Raw HTML in a note is shown as text."""

from __future__ import annotations

from datetime import UTC, datetime
from json import dumps

import orjson
from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from markdown_it import MarkdownIt

from runs.charts import METHODS, MINUS, share
from runs.charts import number as in_words
from runs.http import ago, moment, state_words
from runs.launching.budgets import Hours
from runs.metrics import Provenance
from workers.executors.states import OPEN_STATES, State

register = template.Library()
THEMES = ("light", "dark")
SCRIPT_ESCAPES = {"<": "\\u003C", ">": "\\u003E", "&": "\\u0026"}
"""What could end a script element, or begin another."""


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


# The library itself refuses links to javascript:, vbscript:, file: and data:.
WRITER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "html_inline"])


@register.filter
def markdown(text: str) -> SafeString:
    """The note as HTML, its headings below those of the page."""
    tokens = WRITER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    # The renderer escapes whatever is not Markdown.
    return SafeString(WRITER.renderer.render(tokens, WRITER.options, {}))


for words in (ago, moment, state_words):
    register.filter(words)


BUSY = {State.STARTING, State.RUNNING, State.STOPPING}
SIGNS = {
    State.SUCCEEDED: ("good", "✓"),
    State.FAILED: ("bad", "✕"),
    State.OOM: ("bad", "✕"),
    State.LOST: ("bad", "?"),
    State.NODE_LOST: ("bad", "?"),
    State.TIMEOUT: ("warn", "⏱"),
    State.PREEMPTED: ("warn", "⏏"),
    State.INTERRUPTED: ("warn", "⏏"),
    State.CANCELLED: ("idle", "⊘"),
    State.PARTIAL: ("warn", "◐"),
    State.UNKNOWN: ("idle", "?"),
    State.PAUSED: ("idle", "‖"),
}


@register.simple_tag(takes_context=True)
def theme(context: Context) -> str:
    """The theme that the person chose, light or dark; nothing where the system decides."""
    chosen = context["request"].COOKIES.get("theme", "")
    return format_html(' data-theme="{}"', chosen) if chosen in THEMES else ""


@register.simple_tag(takes_context=True)
def page_address(context: Context, n: int, key: str = "", address: str = "", anchor: str = "") -> str:
    """Return the address of page `n` of a list, with all other parameters of the current address.

    The page is at `address`, or at the current address if that is empty. `key` names the parameter of the page number,
    `page` if it is empty.
    """
    asked = context["request"].GET.copy()
    asked[key or "page"] = str(n)
    return f"{address}?{asked.urlencode()}{f'#{anchor}' if anchor else ''}"


@register.filter
def number(value: float | None) -> str:
    """Three significant digits, a true minus; – where there is no value."""
    return in_words(value)


@register.filter
def json(value: object) -> str:
    """A value as JSON, for an attribute that a script reads."""
    return dumps(value)


@register.filter
def figure(value: object) -> SafeString:
    """A figure as JSON that a script reads, as Django's `json_script` writes it but ten times as quickly: most of a
    large chart's page is its figure."""
    said = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    for sign, escaped in SCRIPT_ESCAPES.items():
        said = said.replace(sign, escaped)
    return format_html('<script type="application/json">{}</script>', SafeString(said))


@register.filter
def cell(value: str | float | Provenance | None) -> str | float:
    """A cell of a table of numbers."""
    if isinstance(value, Provenance):
        return value.words
    return "" if value is None else in_words(value, digits=4) if isinstance(value, float) else value


@register.filter
def clock(at: datetime) -> str:
    """The time of day, with the whole moment for those who point at it."""
    moment = at.astimezone(UTC)
    return format_html('<time title="{}">{}</time>', f"{moment:%Y-%m-%d %H:%M:%S UTC}", f"{moment:%H:%M:%S}")


@register.filter
def percent(value: float | None) -> str:
    """A share as a whole number of percent; – where there is no value."""
    return share(value)


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds as people say them."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return gettext("%(s)d s") % {"s": whole}
    if whole < 3600:
        return gettext("%(min)d min %(s)02d s") % {"min": whole // 60, "s": whole % 60}
    return gettext("%(h)d h %(min)02d min") % {"h": whole // 3600, "min": whole % 3600 // 60}


@register.simple_tag
def state_badge(state: str, count: int | None = None) -> SafeString:
    """A state as a sign, a word and a colour, and how many there are of it."""
    value = State(state)
    tone, sign = SIGNS.get(value, ("busy", "●") if value in BUSY else ("idle", "○"))
    words = state_words(value) if count is None else f"{count} {state_words(value)}"
    return format_html(
        '<span class="badge tone-{}"><span class="sign" aria-hidden="true">{}</span>{}</span>', tone, sign, words
    )


@register.simple_tag
def reason_tone(state: str) -> str:
    """The colour of why a run ended: that of the end."""
    return f"tone-{SIGNS.get(State(state), ('bad', ''))[0]}"


@register.simple_tag
def method_badge(method: str) -> SafeString:
    """ES or GRPO, in its colour."""
    tone = method if method in METHODS else "other"
    return format_html('<span class="badge badge-method tone-{}">{}</span>', tone, METHODS.get(method, method))


@register.simple_block_tag
def listed(content: SafeString) -> SafeString:
    """Return the content of the block, as one value of a sentence.

    A list has any length, and the language decides where in the sentence it goes.
    """
    return content


@register.filter
def is_final(state: str) -> bool:
    """True where a run or attempt has ended."""
    return State(state) not in OPEN_STATES


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
