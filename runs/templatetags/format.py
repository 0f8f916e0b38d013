"""Format numbers, times, states, hours, differences and notes for pages. Raw HTML in a note is shown as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from json import dumps

import orjson
from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from markdown_it import MarkdownIt

from runs.charts import MINUS, Chart, colour, share
from runs.charts import number as in_words
from runs.http import ago, moment, state_sentence, state_words
from runs.launching.budgets import Hours, format_hours
from runs.metrics import Provenance
from workers.config.methods import short_title
from workers.executors.states import OPEN_STATES, State

register = template.Library()
THEMES = ("light", "dark")
SCRIPT_ESCAPES = {"<": "\\u003C", ">": "\\u003E", "&": "\\u0026"}
"""Characters that could end a script element, or begin another."""


@register.filter
def hours(cost: Hours | None) -> str:
    """Format GPU-hours and CPU-hours, if they are not zero; – if they are unknown."""
    if cost is None:
        return "–"
    words = []
    if cost.gpu:
        words.append(gettext("%(n)s GPU-hours") % {"n": format_hours(cost.gpu)})
    if cost.cpu or not cost.gpu:
        words.append(gettext("%(n)s CPU-hours") % {"n": format_hours(cost.cpu)})
    return " + ".join(words)


# The library itself refuses links to javascript:, vbscript:, file: and data:.
WRITER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "html_inline"])


MARKS = re.compile(r"[\n\[\]|*_`~<>()!&\\#-]")
"""Line ends, and characters that Markdown looks at: rendering takes about 15 µs for each."""
MAX_MARKS = 15_000
MAX_CELLS = 20_000
"""Cells that a table may have. Rows are filled up to the widest, so a short note can have many."""


def is_costly(text: str) -> bool:
    """Return whether the note would take more than about 0.3 s to render, as no note that a person writes does."""
    if len(MARKS.findall(text)) > MAX_MARKS:
        return True
    lines = text.splitlines()
    return len(lines) * max((line.count("|") for line in lines), default=0) > MAX_CELLS


@register.filter
def markdown(text: str) -> SafeString:
    """Render the note as HTML, its headings below those of the page. A costly note is shown as it was written."""
    if is_costly(text):
        reason = gettext("This note has too many lines, lists or tables to be formatted, so it is shown as plain text.")
        return format_html('<p class="hint">{}</p><pre>{}</pre>', reason, text)
    tokens = WRITER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    # The renderer escapes everything that is not Markdown.
    return SafeString(WRITER.renderer.render(tokens, WRITER.options, {}))


for words in (ago, format_hours, moment, state_sentence, state_words):
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
    """Return the attribute of the theme that the user selected, light or dark; nothing if the system decides."""
    selected = context["request"].COOKIES.get("theme", "")
    return format_html(' data-theme="{}"', selected) if selected in THEMES else ""


@register.simple_tag(takes_context=True)
def page_address(context: Context, n: int, key: str = "", address: str = "", anchor: str = "") -> str:
    """Return the address of page `n` of a list, with all other parameters of the current address.

    The page is at `address`, or at the current address if that is empty. `key` names the parameter of the page number,
    `page` if it is empty.
    """
    params = context["request"].GET.copy()
    params[key or "page"] = str(n)
    return f"{address}?{params.urlencode()}{f'#{anchor}' if anchor else ''}"


@register.filter
def number(value: float | None) -> str:
    """Format with three significant digits and a true minus; – if there is no value."""
    return in_words(value)


@register.filter
def json(value: object) -> str:
    """Return a value as JSON, for an attribute that a script reads."""
    return dumps(value)


@register.filter
def figure(value: object) -> SafeString:
    """Return a figure as JSON that a script reads, as Django's `json_script` writes it but ten times as quickly: a
    large chart's page is mostly its figure."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    for sign, escaped in SCRIPT_ESCAPES.items():
        text = text.replace(sign, escaped)
    return format_html('<script type="application/json">{}</script>', SafeString(text))


@register.filter
def varying(charts: Iterable[Chart]) -> list[Chart]:
    """Return the charts whose values did not all stay at 0."""
    return [chart for chart in charts if not chart.is_zero]


@register.filter
def at_zero(charts: Iterable[Chart]) -> list[Chart]:
    """Return the charts whose values all stayed at 0."""
    return [chart for chart in charts if chart.is_zero]


@register.filter
def cell(value: str | float | Provenance | None) -> str | float:
    """Format a cell of a table of numbers."""
    if isinstance(value, Provenance):
        return value.words
    return "" if value is None else in_words(value, digits=4) if isinstance(value, float) else value


@register.filter
def clock(at: datetime) -> str:
    """Format the time of day, with the full time as a tooltip."""
    utc_time = at.astimezone(UTC)
    return format_html('<time title="{}">{}</time>', f"{utc_time:%Y-%m-%d %H:%M:%S UTC}", f"{utc_time:%H:%M:%S}")


@register.filter
def percent(value: float | None) -> str:
    """Format a share as a whole number of percent; – if there is no value."""
    return share(value)


@register.filter
def duration(seconds: float | None) -> str:
    """Format seconds as a duration in words; – if there is no value."""
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
    """Return a state as a badge with a sign, a word and a colour, and with the number of objects in it."""
    value = State(state)
    tone, sign = SIGNS.get(value, ("busy", "●") if value in BUSY else ("idle", "○"))
    words = state_words(value) if count is None else f"{count} {state_words(value)}"
    return format_html(
        '<span class="badge tone-{}"><span class="sign" aria-hidden="true">{}</span>{}</span>', tone, sign, words
    )


@register.simple_tag
def reason_tone(state: str) -> str:
    """Return the class for the colour of the reason why a run ended, which is the colour of its final state."""
    return f"tone-{SIGNS.get(State(state), ('bad', ''))[0]}"


@register.simple_tag
@lru_cache(maxsize=100)
def method_badge(method: str) -> SafeString:
    """Return the short title of a method as a badge in its colour."""
    return format_html('<span class="badge badge-method tone-{}">{}</span>', colour(method), short_title(method))


@register.simple_block_tag
def listed(content: SafeString) -> SafeString:
    """Return the content of the block, as one value of a sentence.

    A list has any length, and the language decides where in the sentence it goes.
    """
    return content


@register.filter
def is_final(state: str) -> bool:
    """Return whether a run or attempt in this state has finished."""
    return State(state) not in OPEN_STATES


QUADRANTS = {
    "SH": ("good", _("safe and helpful")),
    "SU": ("idle", _("safe and not helpful")),
    "UH": ("bad", _("unsafe and helpful")),
    "UU": ("bad", _("unsafe and not helpful")),
}


@register.filter
def signed(value: float) -> str:
    """Format a difference with its sign."""
    return f"{'+' if value > 0 else MINUS if value < 0 else '±'}{in_words(abs(value))}"


@register.simple_tag
def quadrant_badge(name: str) -> SafeString:
    """Return the quadrant as a badge, with its description as a tooltip and for screen readers."""
    tone, words = QUADRANTS[name]
    return format_html(
        '<span class="badge tone-{}" title="{}">{}<span class="only-read-aloud"> {}</span></span>',
        tone, gettext(words), name, gettext(words),
    )  # fmt: skip
