"""Format the numbers of panels for pages: scaled, with their intervals and strips, or the reason if there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from runs.charts import MINUS, THIN

Said = Mapping[str, Any]
"""An estimate or a range, as plain values."""
WIDTH = 100.0
"""Width of a strip, in the units of `Strip`."""


@dataclass(frozen=True)
class Shown:
    """Number to display. low, high: its interval, None if there is none. why: the reason if value is None."""

    value: float | None
    low: float | None
    high: float | None
    why: str
    digits: int
    unit: str = ""
    signed: bool = False

    @property
    def words(self) -> str:
        """Return the number with its unit, or an empty text if there is no number."""
        if self.value is None:
            return ""
        return f"{self._written(self.value)}{THIN}{self.unit}" if self.unit else self._written(self.value)

    @property
    def between(self) -> str:
        """Return the interval, or an empty text if there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self._written(self.low)}, {self._written(self.high)}]"

    def _written(self, number: float) -> str:
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

    def strip(self, said: Said) -> Strip | None:
        """Return the strip of a number and its range, or None if there is no number."""
        if said.get("value") is None:
            return None
        ends = [said["value"] if said.get(end) is None else said[end] for end in ("low", "high")]
        return Strip(*(self._at(number) for number in (said["value"], *ends)))

    def _at(self, number: float) -> float:
        return round(WIDTH * (number - self.low) / (self.high - self.low or 1.0), 2)


def axis_of(ranges: Iterable[Said]) -> Axis:
    """Return the axis that covers all values and intervals, or 0 to 1 if there are none."""
    numbers = [one[end] for one in ranges for end in ("value", "low", "high") if one.get(end) is not None]
    return Axis(min(numbers), max(numbers)) if numbers else Axis(0.0, 1.0)


def share(said: Said) -> Shown:
    """Format a share from 0 to 1 in per cent."""
    return _scaled(said, 100.0, 1, "%")


def points(said: Said) -> Shown:
    """Format a difference of shares in percentage points, with its sign."""
    found = _scaled(said, 100.0, 1, "")
    return Shown(found.value, found.low, found.high, found.why, found.digits, gettext("points"), signed=True)


def coefficient(said: Said) -> Shown:
    """Format κ or α."""
    return _scaled(said, 1.0, 2, "")


def elo(said: Said, *, signed: bool = False) -> Shown:
    """Format a rating, or the difference of two ratings, in Elo."""
    found = _scaled(said, 1.0, 0, "")
    return Shown(found.value, found.low, found.high, found.why, 0, "", signed)


def reasons(*shown: Shown) -> list[str]:
    """Return the reasons for missing numbers, without repeats."""
    return list(dict.fromkeys(one.why for one in shown if one.value is None and one.why))


def ranks(standings: Sequence[Said]) -> dict[int, int | None]:
    """Map each index in `standings` to its rank. The rank is None without a rating, or if there are several groups."""
    one_group = len({one["group"] for one in standings}) == 1
    return {k: k + 1 if one_group and one["value"] is not None else None for k, one in enumerate(standings)}


def _scaled(said: Said, by: float, digits: int, unit: str) -> Shown:
    value, low, high = (None if said.get(name) is None else by * said[name] for name in ("value", "low", "high"))
    return Shown(value, low, high, said.get("why", ""), digits, unit)
