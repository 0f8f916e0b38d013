"""Tables of probe values: each value with its interval, its band by chance and a strip that draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import Cell, Table
from runs.probes.deviation import has_band, is_outside
from runs.probes.measures import ProbeMeasure
from runs.probes.results import Subject
from runs.probes.selection import ProbeSeries
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
class Strip:
    """A value on a horizontal axis, in percent of its width. band, interval: (left, width), None if there is none."""

    value: float
    null: float | None
    band: tuple[float, float] | None
    interval: tuple[float, float] | None

    @property
    def svg(self) -> SafeString:
        """Return the picture: the band as an area, its middle dotted, and the value with its interval."""
        parts = []
        if self.band:
            left, width = self.band
            parts.append(f'<rect x="{left:g}%" width="{width:g}%" y="1" height="14"/>')
        if self.null is not None:
            parts.append(f'<line class="null" x1="{self.null:g}%" x2="{self.null:g}%" y1="1" y2="15"/>')
        if self.interval:
            left, width = self.interval
            parts.append(f'<line x1="{left:g}%" x2="{left + width:g}%" y1="8" y2="8"/>')
        parts.append(f'<circle cx="{self.value:g}%" cy="8" r="3.5"/>')
        svg = f'<svg class="probe-strip" height="16" aria-hidden="true">{"".join(parts)}</svg>'
        return mark_safe(svg)  # noqa: S308 (numbers)


@dataclass(frozen=True)
class ProbeRow:
    """A row of a table."""

    series: ProbeSeries
    value: ProbeValue
    strip: Strip

    @property
    def is_outside(self) -> bool:
        """Return whether the value is outside of its band by chance."""
        return is_outside(self.value)


@dataclass(frozen=True)
class ProbeTable:
    """The first rows of a measure, all on one axis. total: number of all rows. has_…: whether any row has the part."""

    rows: list[ProbeRow]
    total: int
    ends: tuple[float, float]
    has_tensor: bool
    has_pair: bool
    has_x: bool
    has_draw: bool
    has_interval: bool
    has_chance: bool

    @property
    def left_out(self) -> int:
        return self.total - len(self.rows)


def table_of(values: Values, measure: ProbeMeasure) -> ProbeTable:
    """Return the values as rows in the order of the records; of pairs of tensors the strongest, by |value| √n."""
    own = [(series, value) for series, _verdict, several in values for value in several]
    most = MAX_ROWS
    if measure.form == "pairs":
        own.sort(key=lambda pair: -abs(pair[1].value) * math.sqrt(pair[1].n))
        most = MAX_PAIRS
    shown = own[:most]
    low, high = _ends([value for _series, value in shown])
    rows = [ProbeRow(series, value, _strip(value, low, high)) for series, value in shown]
    return ProbeTable(
        rows, len(own), (low, high),
        has_tensor=any(value.tensor for _series, value in own),
        has_pair=any(value.other_tensor for _series, value in own),
        has_x=any(value.x is not None for _series, value in own),
        has_draw=any(value.draw is not None for _series, value in own),
        has_interval=any(value.low is not None for _series, value in own),
        has_chance=any(value.null is not None or has_band(value) for _series, value in own),
    )  # fmt: skip


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


def _strip(value: ProbeValue, low: float, high: float) -> Strip:
    """Return the places of a value between the ends, with a margin of 3 % on both sides."""

    def place(number: float) -> float:
        return round(3 + 94 * (number - low) / (high - low), 2) if high > low else 50.0

    def span(left: float | None, right: float | None) -> tuple[float, float] | None:
        if left is None or right is None:
            return None
        return place(left), round(max(place(right) - place(left), 0.3), 2)

    return Strip(
        place(value.value), None if value.null is None else place(value.null), span(value.null_low, value.null_high),
        span(value.low, value.high),
    )  # fmt: skip
