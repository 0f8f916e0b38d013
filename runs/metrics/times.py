"""Times of many records at once: those that are no Unix seconds are unknown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.metrics.packing import Floats
from workers.records.times import AFTER_LAST


def are_times(t: Floats) -> NDArray[np.bool_]:
    """Return bool[n]: whether each number is a time in Unix seconds, as `is_time` decides for one."""
    with np.errstate(invalid="ignore"):
        mask: NDArray[np.bool_] = (t >= 0) & (t < AFTER_LAST)
    return mask


def known_times(t: Floats) -> Floats:
    """Return the times with NaN in place of numbers that are no time. Never changes the argument."""
    # Nearly all series have times only, which two comparisons show.
    if not len(t) or (t.min() >= 0 and t.max() < AFTER_LAST):
        return t
    return np.where(are_times(t), t, np.nan)
