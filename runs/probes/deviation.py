"""Distance of a value from the band that it would have by chance, and the colours of heat maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from runs.charts import number
from workers.records import ProbeValue

EDGES = (1.0, 2.0, 5.0, 20.0, 100.0)
"""Distances at which the colours change, in half-widths of the band."""
SHADES = 5
"""Number of colours of values."""
LOG_RATIO = 30.0
"""Ratio of the largest to the smallest value from which colours of values are logarithmic."""
CHANCE, NO_BAND = "chance", "no-band"


@dataclass(frozen=True)
class Shade:
    """A colour of a heat map: the name of its class, and the range of values that it stands for, in words."""

    name: str
    words: str


def has_band(value: ProbeValue) -> bool:
    """Return whether the value has a band by chance."""
    return value.null_low is not None and value.null_high is not None


def is_outside(value: ProbeValue) -> bool:
    """Return whether the value is outside of its band by chance; False without a band."""
    is_below = value.null_low is not None and value.value < value.null_low
    return is_below or (value.null_high is not None and value.value > value.null_high)


def deviation(value: ProbeValue) -> float | None:
    """Return the distance from the middle of the band by chance, in half-widths of the side that it is on: −1 to 1
    inside of the band. None without a band. ±∞ outside of a band without width."""
    if value.null_low is None or value.null_high is None:
        return None
    middle = (value.null_low + value.null_high) / 2 if value.null is None else value.null
    # A value that is expected outside of its own band cannot be the middle.
    middle = min(max(middle, value.null_low), value.null_high)
    is_above = value.value >= middle
    width = value.null_high - middle if is_above else middle - value.null_low
    if width > 0:
        return (value.value - middle) / width
    return 0.0 if value.value == middle else math.inf if is_above else -math.inf


def shade_of_deviation(value: ProbeValue) -> str:
    """Return the class of a value's colour: inside, above or below the band by chance, by its distance."""
    distance = deviation(value)
    if distance is None:
        return NO_BAND
    if abs(distance) <= 1:
        return CHANCE
    level = sum(abs(distance) >= edge for edge in EDGES)
    return f"{'above' if distance > 0 else 'below'}-{level}"


def deviation_shades() -> list[Shade]:
    """Return all colours of distances, from far below to far above."""
    levels = range(1, len(EDGES) + 1)
    below = [Shade(f"below-{level}", f"− {_range(level)}") for level in reversed(levels)]
    above = [Shade(f"above-{level}", f"+ {_range(level)}") for level in levels]
    return [*below, Shade(CHANCE, gettext("as by chance")), *above, Shade(NO_BAND, gettext("no band"))]


def _range(level: int) -> str:
    if level == len(EDGES):
        return f"> {EDGES[-1]:g}"
    return f"{EDGES[level - 1]:g}…{EDGES[level]:g}"


@dataclass(frozen=True)
class ValueScale:
    """Colours of values: SHADES equal steps from `low` to `high`, or of equal ratios if it is logarithmic."""

    low: float
    high: float
    is_log: bool

    def shade(self, value: ProbeValue) -> str:
        """Return the class of a value's colour."""
        low, high, own = self._place(self.low), self._place(self.high), self._place(value.value)
        level = int(SHADES * (own - low) / (high - low)) if high > low else 0
        return f"value-{min(max(level + 1, 1), SHADES)}"

    def shades(self) -> list[Shade]:
        """Return all colours with their ranges."""
        low, high = self._place(self.low), self._place(self.high)
        ends = [low + (high - low) * i / SHADES for i in range(SHADES + 1)]
        texts = [number(math.exp(end) if self.is_log else end) for end in ends]
        count = SHADES if high > low else 1
        return [Shade(f"value-{i + 1}", f"{texts[i]}…{texts[i + 1]}" if count > 1 else texts[0]) for i in range(count)]

    def _place(self, value: float) -> float:
        return math.log(value) if self.is_log else value


def value_scale(values: Sequence[float]) -> ValueScale:
    """Return the scale of these values; logarithmic if all are positive and the largest is LOG_RATIO times the
    smallest or more."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return ValueScale(low, high, is_log=low > 0 and high >= LOG_RATIO * low)
