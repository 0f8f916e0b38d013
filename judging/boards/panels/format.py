"""Numbers of panels as pages show them: scaled, with their intervals, drawn as strips, or why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from runs.charts import MINUS, THIN

Said = Mapping[str, Any]
"""An estimate or a range, as plain values."""
WIDTH = 100.0
"""Of a strip, in its own units."""


@dataclass(frozen=True)
class Shown:
    """low, high: None where there is no interval. why: said where value is None."""

    value: float | None
    low: float | None
    high: float | None
    why: str
    digits: int
    unit: str = ""
    signed: bool = False

    @property
    def words(self) -> str:
        """The number with its unit; nothing where there is none."""
        if self.value is None:
            return ""
        return f"{self._written(self.value)}{THIN}{self.unit}" if self.unit else self._written(self.value)

    @property
    def between(self) -> str:
        """Its interval; nothing where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self._written(self.low)}, {self._written(self.high)}]"

    def _written(self, number: float) -> str:
        sign = "+" if self.signed and round(number, self.digits) > 0 else ""
        return f"{sign}{number:.{self.digits}f}".replace("-", MINUS)


@dataclass(frozen=True)
class Strip:
    """Where a number and its interval lie on the axis that all of a panel share, from 0 to WIDTH."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Axis:
    """What the strips of a panel run from and to."""

    low: float
    high: float

    def strip(self, said: Said) -> Strip | None:
        """Of a range; None where there is no number."""
        if said.get("value") is None:
            return None
        ends = [said["value"] if said.get(end) is None else said[end] for end in ("low", "high")]
        return Strip(*(self._at(number) for number in (said["value"], *ends)))

    def _at(self, number: float) -> float:
        return round(WIDTH * (number - self.low) / (self.high - self.low or 1.0), 2)


def axis_of(ranges: Iterable[Said]) -> Axis:
    """That holds them all."""
    numbers = [one[end] for one in ranges for end in ("value", "low", "high") if one.get(end) is not None]
    return Axis(min(numbers), max(numbers)) if numbers else Axis(0.0, 1.0)


def share(said: Said) -> Shown:
    """A share of 1, in per cent."""
    return _scaled(said, 100.0, 1, "%")


def points(said: Said) -> Shown:
    """A difference of shares, in percentage points, with its sign."""
    found = _scaled(said, 100.0, 1, "")
    return Shown(found.value, found.low, found.high, found.why, found.digits, gettext("points"), signed=True)


def coefficient(said: Said) -> Shown:
    """κ or α."""
    return _scaled(said, 1.0, 2, "")


def elo(said: Said, *, signed: bool = False) -> Shown:
    """A rating, or a difference of two."""
    found = _scaled(said, 1.0, 0, "")
    return Shown(found.value, found.low, found.high, found.why, 0, "", signed)


def reasons(*shown: Shown) -> list[str]:
    """Why numbers are not there, each once."""
    return list(dict.fromkeys(one.why for one in shown if one.value is None and one.why))


def ranks(standings: Sequence[Said]) -> dict[int, int | None]:
    """place in `standings` -> rank, counted where all stand in one group; None where no rank says anything."""
    one_group = len({one["group"] for one in standings}) == 1
    return {k: k + 1 if one_group and one["value"] is not None else None for k, one in enumerate(standings)}


def _scaled(said: Said, by: float, digits: int, unit: str) -> Shown:
    value, low, high = (None if said.get(name) is None else by * said[name] for name in ("value", "low", "high"))
    return Shown(value, low, high, said.get("why", ""), digits, unit)
