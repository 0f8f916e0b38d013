"""A curve -> a calmer one: an exponential moving average without the usual pull towards its start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workers.analysis.middles import Floats


def smooth(y: Floats, weight: float) -> Floats:
    """The debiased exponential moving average: at each point the mean of all points up to it, each counting `weight`
    times as much as the one after it.

    y: float64[n], in order; what is not finite counts for nothing and is NaN in the result. weight: 0 (changes
    nothing) to below 1. Debiased as in Adam (Kingma and Ba, 2015): the weights at each point sum to one, so a curve
    does not start at zero. Raises ValueError for a weight out of range.
    """
    if not 0 <= weight < 1:
        raise ValueError(f"weight must be at least 0 and below 1, not {weight}")
    good = np.isfinite(y)
    sums, counts = _decayed(np.where(good, y, 0.0), weight), _decayed(good.astype(np.float64), weight)
    out = np.full(len(y), np.nan)
    out[good] = sums[good] / counts[good]
    return out


def _decayed(values: Floats, weight: float) -> Floats:
    """sum over k of weight**k * values[t - k], by doubling: exact, and no loop over the points."""
    total: NDArray[np.float64] = values.copy()
    reach, factor = 1, weight
    while reach < len(total) and factor > np.finfo(np.float64).tiny:
        total[reach:] += factor * total[:-reach].copy()
        reach, factor = 2 * reach, factor * factor
    return total
