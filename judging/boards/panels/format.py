"""Format the numbers of panels for pages: scaled, with their intervals and strips, or the reason if there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from runs.charts import MINUS, THIN

PanelData = Mapping[str, Any]
"""An estimate or a range, as plain values."""
WIDTH = 100.0
"""Width of a strip, in the units of `Strip`."""


@dataclass(frozen=True)
class FormattedNumber:
    """Number to display. low, high: its interval, None if there is none. reason: why value is None."""

    value: float | None
    low: float | None
    high: float | None
    reason: str
    digits: int
    unit: str = ""
    signed: bool = False

    @property
    def text(self) -> str:
        """Return the number with its unit, or an empty text if there is no number."""
        if self.value is None:
            return ""
        return f"{self._format(self.value)}{THIN}{self.unit}" if self.unit else self._format(self.value)

    @property
    def interval_text(self) -> str:
        """Return the interval, or an empty text if there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self._format(self.low)}, {self._format(self.high)}]"

    def _format(self, number: float) -> str:
        sign = "+" if self.signed and round(number, self.digits) > 0 else ""
        return f"{sign}{number:.{self.digits}f}".replace("-", MINUS)


@dataclass(frozen=True)
class Strip:
    """Position of a number and its interval, from 0 to WIDTH, on the axis that all numbers of a panel share."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Axis:
    """Range of the axis that the strips of a panel share."""

    low: float
    high: float

    def strip(self, estimate: PanelData) -> Strip | None:
        """Return the strip of a number and its range, or None if there is no number."""
        if estimate.get("value") is None:
            return None
        ends = [estimate["value"] if estimate.get(bound) is None else estimate[bound] for bound in ("low", "high")]
        return Strip(*(self._at(number) for number in (estimate["value"], *ends)))

    def _at(self, number: float) -> float:
        return round(WIDTH * (number - self.low) / (self.high - self.low or 1.0), 2)


def common_axis(ranges: Iterable[PanelData]) -> Axis:
    """Return the axis that covers all values and intervals, or 0 to 1 if there are none."""
    numbers = [
        estimate[bound] for estimate in ranges for bound in ("value", "low", "high") if estimate.get(bound) is not None
    ]
    return Axis(min(numbers), max(numbers)) if numbers else Axis(0.0, 1.0)


def format_share(estimate: PanelData) -> FormattedNumber:
    """Format a share from 0 to 1 in per cent."""
    return _scale_estimate(estimate, 100.0, 1, "%")


def format_points(estimate: PanelData) -> FormattedNumber:
    """Format a difference of shares in percentage points, with its sign."""
    scaled = _scale_estimate(estimate, 100.0, 1, "")
    return FormattedNumber(
        scaled.value, scaled.low, scaled.high, scaled.reason, scaled.digits, gettext("points"), signed=True
    )


def format_coefficient(estimate: PanelData) -> FormattedNumber:
    """Format κ or α."""
    return _scale_estimate(estimate, 1.0, 2, "")


def format_elo(estimate: PanelData, *, signed: bool = False) -> FormattedNumber:
    """Format a rating, or the difference of two ratings, in Elo."""
    scaled = _scale_estimate(estimate, 1.0, 0, "")
    return FormattedNumber(scaled.value, scaled.low, scaled.high, scaled.reason, 0, "", signed)


def missing_reasons(*numbers: FormattedNumber) -> list[str]:
    """Return the reasons for missing numbers, without repeats."""
    return list(dict.fromkeys(number.reason for number in numbers if number.value is None and number.reason))


def rank_standings(standings: Sequence[PanelData]) -> dict[int, int | None]:
    """Map each index in `standings` to its rank. The rank is None without a rating, or if there are several groups."""
    one_group = len({standing["group"] for standing in standings}) == 1
    return {k: k + 1 if one_group and standing["value"] is not None else None for k, standing in enumerate(standings)}


def _scale_estimate(estimate: PanelData, factor: float, digits: int, unit: str) -> FormattedNumber:
    value, low, high = (
        None if estimate.get(name) is None else factor * estimate[name] for name in ("value", "low", "high")
    )
    return FormattedNumber(value, low, high, estimate.get("why", ""), digits, unit)
