"""Tables of probe values: each value with its interval, its band by chance and a strip that draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.probes.deviation import has_band, is_outside
from runs.probes.measures import ProbeMeasure
from runs.probes.results import Subject
from runs.probes.selection import ProbeSeries
from runs.tables import NONE, PLAIN, Cell, Code, Column, Drawing, NumberStyle, Table, number
from workers.records import ProbeValue

MAX_ROWS = 200
"""Number of rows that a page shows; files have all."""
MAX_PAIRS = 20
COLUMNS = (
    "letter", "probe run", "run", "subject", "subject step", "other", "other step", "method", "seed", "probe",
    "measure", "tensor", "other tensor", "x", "draw", "value", "low", "high", "null", "null low", "null high", "n",
    "verdict",
)  # fmt: skip
VERDICTS = {
    "shared": _("Shared noise: tensors of this model were changed by the same random numbers."),
    "independent": _("Independent: all pairs of tensors together have no more in common than independent noise."),
    "correlated": _(
        "Correlated: tensors have a little more in common than independent noise, as training by gradients gives."
    ),
    "undecided": _("Undecided: no two tensors could be compared."),
}
Values: TypeAlias = Sequence[tuple[ProbeSeries, str, list[ProbeValue]]]
"""Each series with its verdict and its values."""


@dataclass(frozen=True)
class ProbeTable:
    """The first rows of a measure, with the columns that any of all rows fills. left_out: number of the other rows."""

    table: Table
    left_out: int
    has_chance: bool


def table_of(values: Values, measure: ProbeMeasure) -> ProbeTable:
    """Return the values as rows in the order of the records; of pairs of tensors the strongest, by |value| √n. Values
    of single tensors are those of one tensor."""
    own = [(series, value) for series, _verdict, several in values for value in several]
    most = MAX_ROWS
    if measure.form == "pairs":
        own.sort(key=lambda pair: -abs(pair[1].value) * math.sqrt(pair[1].n))
        most = MAX_PAIRS
    shown = own[:most]
    ends = _ends([value for _series, value in shown])

    def has(name: str) -> bool:
        return any(getattr(value, name) not in ("", None) for _series, value in own)

    has_pair, has_chance = has("other_tensor"), has("null") or any(has_band(value) for _series, value in own)
    columns: list[tuple[bool, Column, Callable[[ProbeSeries, ProbeValue], Cell]]] = [
        (True, Column("series", gettext("Series"), str), lambda series, _: _name(series)),
        (has_pair, Column("tensor", gettext("Tensor"), str), lambda _, value: Code(value.tensor)),
        (has_pair, Column("other", gettext("Other tensor"), str), lambda _, value: Code(value.other_tensor)),
        (has("tensor") and not has_pair and measure.form != "tensors", Column("tensor", measure.tensor, str),
         lambda _, value: value.tensor or gettext("whole model")),
        (has("x"), Column("x", measure.x), lambda _, value: value.x),
        (has("draw"), Column("draw", gettext("Draw"), style=NumberStyle(str)), lambda _, value: value.draw),
        (True, Column("value", gettext("Value"), tint=lambda cell: "outside" if isinstance(cell, Drawing) else ""),
         lambda _, value: marked_value(value)),
        (has("low"), Column("interval", gettext("Interval")), lambda _, value: _span(value.low, value.high)),
        (has_chance, Column("null", gettext("By chance")), lambda _, value: value.null),
        (has_chance, Column("band", gettext("Band by chance")), lambda _, value: band_text(value)),
        (True, Column("n"), lambda _, value: value.n),
        (True, Column("strip", " … ".join(map(number, ends)), str, tint=lambda _: "strip-cell"),
         lambda series, value: _strip(value, *ends, series.mark.group.tone)),
    ]  # fmt: skip
    used = [(column, cell) for is_used, column, cell in columns if is_used]
    rows = tuple(tuple(cell(series, value) for _column, cell in used) for series, value in shown)
    return ProbeTable(Table(tuple(column for column, _cell in used), rows), len(own) - len(shown), has_chance)


def marked_value(value: ProbeValue) -> Cell:
    """Return the value, with a mark if it is outside of its band by chance."""
    if not is_outside(value):
        return value.value
    title = gettext("Outside of the band by chance")
    return Drawing(format_html('<span title="{}">◆ </span>{}', title, number(value.value)))


def band_text(value: ProbeValue) -> str:
    """Return the ends of the band by chance."""
    return _span(value.null_low, value.null_high)


def _span(low: float | None, high: float | None) -> str:
    return PLAIN.interval(low, high) or NONE


def _name(series: ProbeSeries) -> Drawing:
    html = '<span title="{title}"><b>{letter}</b> <span class="quiet">{title}</span></span>'
    return Drawing(format_html(html, title=series.title, letter=series.letter))


def verdicts_of(values: Values) -> list[tuple[ProbeSeries, str]]:
    """Return the series that have a verdict, each with it in words."""
    return [
        (series, gettext(VERDICTS[verdict]) if verdict in VERDICTS else verdict)
        for series, verdict, _values in values
        if verdict
    ]


def of_tensor(values: Values, tensor: str) -> Values:
    """Return the values of one tensor."""
    return [
        (series, verdict, [value for value in several if value.tensor == tensor]) for series, verdict, several in values
    ]


def file_of(values: Values, measure: ProbeMeasure) -> Table:
    """Return all values with all digits, each with the runs, steps and draw that it is from."""
    return Table(
        COLUMNS,
        tuple(
            _cells(series, verdict, value, measure) for series, verdict, several in values for value in several
        ),
    )  # fmt: skip


def _cells(series: ProbeSeries, verdict: str, value: ProbeValue, measure: ProbeMeasure) -> tuple[Cell, ...]:
    own, other = series.subject, series.other or series.source
    return (
        series.letter, series.run.uid, series.run.name, own.name, own.step, other.name if other else None,
        other.step if other else None, _joined(series, "method"), _seeds(series), measure.probe, measure.key,
        value.tensor, value.other_tensor, value.x, value.draw, value.value, value.low, value.high, value.null,
        value.null_low, value.null_high, value.n, verdict,
    )  # fmt: skip


def _joined(series: ProbeSeries, name: str) -> str:
    return " ".join(dict.fromkeys(filter(None, (getattr(subject, name) for subject in series.subjects))))


def _seeds(series: ProbeSeries) -> str:
    return " ".join(str(subject.run.seed) for subject in series.subjects if _has_seed(subject) and subject.run)


def _has_seed(subject: Subject) -> bool:
    return subject.run is not None and subject.run.seed is not None


def _ends(values: Sequence[ProbeValue]) -> tuple[float, float]:
    """Return the smallest and the largest number of these values, their intervals and bands."""
    numbers = [
        number
        for own in values
        for number in (own.value, own.low, own.high, own.null, own.null_low, own.null_high)
        if number is not None
    ]
    return min(numbers, default=0.0), max(numbers, default=0.0)


def _strip(value: ProbeValue, low: float, high: float, tone: str) -> Drawing:
    """Return a picture of a value between the ends, with a margin of 3 % on both sides: its band by chance as an area,
    the middle of the band dotted, and in the colour of `tone` the value with its interval."""

    def place(number: float) -> float:
        return round(3 + 94 * (number - low) / (high - low), 2) if high > low else 50.0

    def span(left: float, right: float) -> tuple[float, float]:
        return place(left), round(max(place(right) - place(left), 0.3), 2)

    parts = []
    if value.null_low is not None and value.null_high is not None:
        left, width = span(value.null_low, value.null_high)
        parts.append(f'<rect x="{left:g}%" width="{width:g}%" y="1" height="14"/>')
    if value.null is not None:
        parts.append(f'<line class="null" x1="{place(value.null):g}%" x2="{place(value.null):g}%" y1="1" y2="15"/>')
    if value.low is not None and value.high is not None:
        left, width = span(value.low, value.high)
        parts.append(f'<line x1="{left:g}%" x2="{left + width:g}%" y1="8" y2="8"/>')
    parts.append(f'<circle cx="{place(value.value):g}%" cy="8" r="3.5"/>')
    svg = f'<svg class="probe-strip tone-{tone}" height="16" aria-hidden="true">{"".join(parts)}</svg>'
    return Drawing(mark_safe(svg))  # noqa: S308 (numbers, and the name of a colour)
