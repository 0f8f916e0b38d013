"""Scales that place numbers between 0 and 1, and the colour ramp of a heat map on such a scale."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from runs.metrics import LOWER

LOG_FROM = 50
"""Ratio of the largest to the smallest positive value from which a scale is logarithmic."""
LEVELS = 10


@dataclass(frozen=True)
class Scale:
    """Linear or logarithmic scale from `low`, at 0, to `high`, at 1."""

    low: float
    high: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value, 0 to 1. If low equals high, all values are in the middle."""
        low, high, value = (math.log(n) if self.is_log else n for n in (self.low, self.high, value))
        return 0.5 if low == high else min(1.0, max(0.0, (value - low) / (high - low)))

    def value_at(self, position: float) -> float:
        """Return the value at a position, 0 to 1."""
        if position in (0, 1):
            return self.high if position else self.low
        low, high = (math.log(n) if self.is_log else n for n in (self.low, self.high))
        value = low + position * (high - low)
        return math.exp(value) if self.is_log else value


def scale_of(values: Iterable[float]) -> Scale | None:
    """Return the scale that spans these finite values, logarithmic if all are positive and span LOG_FROM or more; None
    if there are no values."""
    numbers = list(values)
    if not numbers:
        return None
    low, high = min(numbers), max(numbers)
    return Scale(low, high, low > 0 and high / low > LOG_FROM)


@dataclass(frozen=True)
class Ramp:
    """Colour ramp: levels 0 to LEVELS - 1, of which the last is the strongest colour. direction: HIGHER, LOWER or None.

    The strongest colour is at the good end; at the high end if the good direction is not known.
    """

    scale: Scale
    direction: int | None = None

    def level(self, value: float) -> int:
        """Return the level of a value on the scale."""
        position = self.scale.at(value)
        position = 1 - position if self.direction == LOWER else position
        return min(LEVELS - 1, int(position * LEVELS))

    @property
    def ends(self) -> tuple[float, float]:
        """Return the values of the weakest and the strongest colour."""
        ends = self.scale.low, self.scale.high
        return ends[::-1] if self.direction == LOWER else ends

    @property
    def levels(self) -> range:
        """Return the levels, from the weakest colour to the strongest."""
        return range(LEVELS)

    @property
    def is_flat(self) -> bool:
        """Return whether all values are equal."""
        return self.scale.low == self.scale.high


def ramp_of(values: Iterable[float], direction: int | None) -> Ramp | None:
    """Return the ramp over these finite values; None if there are no values."""
    scale = scale_of(values)
    return None if scale is None else Ramp(scale, direction)
