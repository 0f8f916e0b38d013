"""Format the cells of a runs table, by the kind of their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from runs import metrics
from runs.charts import MINUS, chart_slug, number, share
from runs.compare.run_table import MAX_STEP_RUNS, Cell, Column, Heading, Kind, Row, Spread, steps_of
from runs.experiments.home.result_rows import ResultRow
from runs.http import ago
from runs.metrics import HEADLINE_KEYS
from runs.models import Flag
from runs.templatetags.format import duration, method_badge, state_badge

register = template.Library()
LOOKS = {"state": "how", "step": "number how-far", "tag": "tagged", "flags": "flag-cell"}
ARROWS = {(True, True): "▲", (False, True): "▼", (True, False): "△", (False, False): "▽"}
"""(the difference is above zero, the value is better) -> its arrow."""
MAX_NOTE_LENGTH = 40
PLAIN = ("state", "method", "preset", "seed", "step", "time")


@register.simple_tag
def run_cells(row: Row, differing: Collection[str] = ()) -> SafeString:
    """Return the row's cells, labelled for narrow screens, where rows are cards. Columns in PLAIN have no label.

    The cells of `differing` columns also state how their values were measured.
    """
    language = get_language()
    parts = []
    for cell in row.cells:
        content = conditional_escape(_content(row, cell, differing))
        parts += [_cell_start(cell.column, language), content, gap(cell), "</td>"]
    return SafeString("".join(parts))


@register.simple_tag
def task_cell(row: ResultRow) -> SafeString:
    """Return a cell with the headline metrics that only some tasks have, each with its title; – if there are none."""
    content = titled_values(row, row.task_cells) or "–"
    return format_html('<td role="cell" data-label="{}">{}</td>', gettext("Task metrics"), content)


@register.simple_tag
def titled_values(row: Row, cells: Sequence[Cell]) -> SafeString:
    """Return the values of these cells of a row, each with its title."""
    parts = ((cell.column.title, _content(row, cell, ())) for cell in cells)
    return format_html_join(" ", '<span class="task-metric">{} {}</span>', parts)


@lru_cache(maxsize=1000)
def _cell_start(column: Column, language: str | None) -> SafeString:
    has_no_look = column.is_metric or column.kind is Kind.CONFIG
    look = "" if has_no_look else LOOKS.get(column.key, column.key)
    classes = f"{look} number".strip() if column.is_number and look != "how-far" else look
    return format_html(
        '<td role="cell"{}{}>',
        format_html(' class="{}"', classes) if classes else "",
        format_html(' data-label="{}"', column.title) if column.key not in PLAIN else "",
    )


@register.filter
def select_words(name: str) -> str:
    """Return the label of a run's checkbox. A filter, because each row needs it and `blocktranslate` is slow."""
    return gettext("Select %(name)s") % {"name": name}


@register.filter
def pin_words(name: str) -> str:
    """Return the label of a run's pin."""
    return gettext("Pin %(name)s") % {"name": name}


@register.filter
def with_columns(names: Sequence[str], columns: Sequence[Column]) -> list[tuple[str, Column]]:
    """Return each name of a group with the column whose value it is."""
    return list(zip(names, columns, strict=True))


@register.filter
def column_in(key: str, headings: Sequence[Heading]) -> Column:
    """Return the column with this key."""
    return next(heading.column for heading in headings if heading.column.key == key)


@register.simple_tag
def unlike(heading: Heading) -> SafeString | str:
    """Return the mark of a column whose values were measured differently; nothing for other columns."""
    if not heading.ways:
        return ""
    words, ways = gettext("measured differently"), metrics.ways_in_words(heading.ways)
    mark = ' <span class="unlike" title="{}: {}">≠<span class="only-read-aloud"> {}</span></span>'
    return format_html(mark, words, ways, words)


@register.simple_tag
def spread_cell(values: Spread, column: Column, spread: str) -> SafeString:
    """Format mean ± spread over the runs of a group, with their number n. spread: one of SPREADS."""
    if values.is_unread:
        title = gettext("Values at a step are read for at most %(n)s runs: add filters.") % {"n": MAX_STEP_RUNS}
        return format_html('<small class="quiet" title="{}">{}</small>', title, gettext("too many runs to read"))
    if values.ways:
        words = gettext("measured differently (n = %(n)s)") % {"n": values.n}
        return format_html('<small class="unlike" title="{}">{}</small>', metrics.ways_in_words(values.ways), words)
    text = "–" if values.mean is None else _number(column, values.mean)
    if (width := values.width(spread)) is not None:
        text = f"{text} ± {_number(column, width)}"
    return format_html('{} <small class="n">n = {}</small>{}', text, values.n, _common_step(values))


def _common_step(values: Spread) -> SafeString | str:
    """Return the step of values at the last step that all runs of a group have, with the reason; nothing if the runs
    end at the same step."""
    if values.last_steps is None:
        return ""
    params = {"first": values.last_steps[0], "last": values.last_steps[1], "most": MAX_STEP_RUNS}
    if values.has_own_ends:
        text = gettext("at steps %(first)s to %(last)s") % params
        title = gettext(
            "Each run's own last value. Points are read for at most %(most)s runs: add filters for the values at the "
            "last step that all runs have."
        )
    elif values.step is None:
        text, title = (
            gettext("no common step"),
            gettext("No step has a finite value of all runs; they end at %(ends)s."),
        )
    else:
        text = gettext("at step %(step)s") % {"step": values.step}
        title = gettext("The last step at which all runs have a finite value; they end at %(ends)s.")
    first, last = values.last_steps
    ends = gettext("step %(first)s") if first == last else gettext("steps %(first)s to %(last)s")
    return format_html(' <small class="n" title="{}">{}</small>', title % (params | {"ends": ends % params}), text)


@register.simple_tag
def gap(cell: Cell) -> SafeString:
    """Return the difference of a cell's value from the pinned run's; nothing if it has none.

    A filled arrow is a better value, an outlined one a worse value, in words for screen readers.
    """
    if cell.gap is None:
        return SafeString()
    if cell.gap.difference is None:
        words = gettext("measured differently from the pinned run")
        html = '<small class="gap unlike" title="{}">≠<span class="only-read-aloud"> {}</span></small>'
        return format_html(html, words, words)
    is_better, text = cell.gap.is_better, _signed(cell.column, cell.gap.difference)
    if is_better is None:
        return format_html('<small class="gap">{}</small>', text)
    words = gettext("better") if is_better else gettext("worse")
    arrow = ARROWS[cell.gap.difference > 0, is_better]
    html = (
        '<small class="gap {}" title="{}"><span aria-hidden="true">{}</span> {}'
        '<span class="only-read-aloud"> {}</span></small>'
    )
    return format_html(html, "better" if is_better else "worse", words, arrow, text, words)


@register.simple_tag
def flagged_count(flagged: int, n: int) -> SafeString:
    """Return a badge with the number of runs, of n, that have an open flag."""
    words = gettext("%(flagged)s of %(n)s flagged") % {"flagged": flagged, "n": n}
    sign = SafeString('<span class="sign" aria-hidden="true">⚑</span>')
    return format_html('<span class="badge tone-bad flag-badge">{}{}</span>', sign, words)


@register.filter
def thousands(value: int) -> str:
    """Format a count with separated thousands."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


@register.filter
def pointed(line: str, problem: Any) -> SafeString:
    """Return the query with the part marked that a problem is about."""
    return format_html("{}<mark>{}</mark>{}", line[: problem.at], line[problem.at : problem.end], line[problem.end :])


def _content(row: Row, cell: Cell, differing: Collection[str]) -> Any:
    if cell.value is None:
        return "–"
    if cell.column.is_metric:
        chart = f"curves/#chart-{chart_slug(cell.column.metric)}" if cell.column.metric in HEADLINE_KEYS else ""
        address, number_words = f"{row.address}{chart}", _number(cell.column, cell.value)
        if cell.step is not None and cell.step != cell.column.step:
            step_words = gettext("step %(step)s") % {"step": cell.step}
            number_words = format_html('{} <small class="quiet">{}</small>', number_words, step_words)
        if cell.measured is not None and cell.column.key in differing:
            return format_html('<a href="{}" title="{}">{}</a>', address, cell.measured.words, number_words)
        return format_html('<a href="{}">{}</a>', address, number_words)
    if cell.column.kind is Kind.CONFIG:
        return cell.value if isinstance(cell.value, str) else json.dumps(cell.value)
    formatter = FORMATTERS.get(cell.column.key)
    return formatter(row, cell.value) if formatter else cell.value


def _number(column: Column, value: float) -> str:
    if column.key == "time":
        return duration(value)
    return share(value) if column.is_share else number(value)


def _signed(column: Column, difference: float) -> str:
    """Format a difference with its sign; that of a share in percentage points."""
    if not difference:
        return "0"
    if column.is_share:
        text = gettext("%(points)s pp") % {"points": number(abs(100 * difference))}
    else:
        text = _number(column, abs(difference))
    return f"{'+' if difference > 0 else MINUS}{text}"


def _state(row: Row, value: str) -> SafeString:
    reason_html = format_html('<small class="why" title="{}">{}</small>', row.reason, row.reason) if row.reason else ""
    return format_html("{}{}", state_badge(value), reason_html)


def _step(row: Row, value: int) -> SafeString | str:
    steps = steps_of(row.run)
    if not row.run.is_open or not steps:
        return _step_of(value, steps) if steps else str(value)
    share_done, words = min(1.0, value / steps), gettext("Share of steps done")
    bar = format_html('<progress value="{}" max="1" aria-label="{}"></progress>', f"{share_done:.3f}", words)
    return format_html("{}{}", _step_of(value, steps), bar)


def _step_of(value: int, steps: int) -> str:
    return gettext("%(step)s of %(steps)s") % {"step": value, "steps": steps}


def _tags(row: Row, tags: list[str]) -> SafeString:
    return format_html_join(" ", '<span class="tag">{}</span>', ((tag,) for tag in tags))


def _flags(row: Row, flags: list[Flag]) -> SafeString:
    """Return the badges of the run's open flags, with a link to the panel that explains them."""
    badges = get_template("flags/badges.html").render({"flags": flags})
    return format_html('<a href="{}#flags">{}</a>', row.address, badges)


def _note(row: Row, note: str) -> str:
    first = note.strip().partition("\n")[0]
    return first if len(first) <= MAX_NOTE_LENGTH else first[: MAX_NOTE_LENGTH - 1] + "…"


FORMATTERS: Mapping[str, Callable[[Row, Any], Any]] = {
    "state": _state,
    "method": lambda row, value: method_badge(value),
    "step": _step,
    "time": lambda row, value: duration(value),
    "created": lambda row, value: ago(value),
    "archived": lambda row, value: ago(value),
    "tag": _tags,
    "note": _note,
    "flags": _flags,
}
