"""A curve -> a calmer one: over all its points, whatever is drawn of them, and without a pull towards its start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.analysis.middles import Floats

Places: TypeAlias = NDArray[np.int64]

WIDEST = 1001
"""Points: a wider window of a million of them takes seconds."""
AT_ONCE = 2_000_000
FAINT = 1e-100
"""The least weight that is divided by: far above what a float64 loses digits at."""
NAMED = re.compile(r"(gaussian|median)-(\d{1,4})")


@dataclass(frozen=True)
class Smoothing:
    """ema: an average in which a point counts `amount` (0 to below 1) times as much as one that lies a usual step
    later. gaussian: weights of a normal distribution, `amount` points its standard deviation. median: of `amount`
    points around each, an odd number. An amount of 0 changes nothing."""

    kind: str = "ema"
    amount: float = 0.0

    def __bool__(self) -> bool:
        return self.amount > 0

    def __str__(self) -> str:
        return f"{self.amount:g}" if self.kind == "ema" else f"{self.kind}-{self.amount:g}"

    @property
    def words(self) -> str:
        """What it does, for a hint."""
        return {
            "ema": f"an exponential moving average of weight {self.amount:g} a usual step, debiased",
            "gaussian": f"a Gaussian of {self.amount:g} points' standard deviation",
            "median": f"the median of the {self.amount:g} points around each",
        }[self.kind]

    @classmethod
    def parse(cls, said: str) -> Smoothing:
        """`0.9`, `gaussian-5` or `median-9`. Raises ValueError, in words, where it is none of these."""
        if named := NAMED.fullmatch(said):
            kind, amount = named[1], int(named[2])
            if (1 <= amount <= WIDEST // 8) if kind == "gaussian" else (amount % 2 and amount <= WIDEST):
                return cls(kind, amount)
        else:
            try:
                weight = float(said)
            except ValueError:
                weight = -1.0
            if 0 <= weight <= 0.999:
                return cls("ema", weight)
        raise ValueError(
            f"must be a number from 0 to 0.999, gaussian-N (N up to {WIDEST // 8}) or median-N (N odd, up to {WIDEST})"
        )


def smooth(x: Floats, y: Floats, how: Smoothing) -> Floats:
    """x, y: float64[n], x ascending; what is not finite in y counts for nothing and is NaN in the result."""
    good = np.isfinite(y)
    known = np.where(good, y, np.nan)
    if not how or not good.any():
        return known
    smoothed = {"ema": _averaged, "gaussian": _blurred, "median": _median}[how.kind](x, known, how.amount)
    return np.where(good, smoothed, np.nan)


def _averaged(x: Floats, y: Floats, weight: float) -> Floats:
    """Debiased as in Adam (Kingma and Ba, 2015), so that a curve does not start at zero; and by distance, not by
    number, so that it does not matter how often was measured."""
    far = _far(x)
    good = ~np.isnan(y)
    # In a unit in which no value is above 2: what comes before the weights are undone is a hundred digits larger.
    unit = 2.0 ** (np.frexp(np.nanmax(np.abs(y)))[1] - 1)
    sums, weights = _decayed(np.array([np.where(good, y / unit, 0.0), good]), far, weight)
    with np.errstate(invalid="ignore"):
        # Before the first known point there is nothing to average.
        out: Floats = sums / weights * unit
    return out


def _far(x: Floats) -> Floats:
    """How many usual steps each point lies behind the first."""
    apart = np.diff(x)
    if len(apart) and apart[0] > 0 and (apart == apart[0]).all():
        return np.arange(float(len(x)))
    usual = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    return np.concatenate([[0.0], np.cumsum(apart / usual)])


def _decayed(values: Floats, far: Floats, weight: float) -> Floats:
    """float64[rows, n] -> sum over k of weight ** (far[t] - far[k]) * values[:, k], k ≤ t.

    Stretch by stretch, each a running sum of what its points would weigh at its start: nearly all sums are numpy's, and
    a stretch ends before the weights do.
    """
    decay = np.log(weight)
    reach = np.log(FAINT) / decay
    cuts = np.flatnonzero(np.diff(np.floor(far / reach))) + 1
    out, before = np.empty_like(values), np.zeros((len(values), 1))
    for start, end in pairwise([0, *cuts.tolist(), far.size]):
        scale = np.exp(decay * (far[start:end] - far[start]))
        before = before * np.exp(decay * (far[start] - far[max(start - 1, 0)]))
        out[:, start:end] = scale * (np.cumsum(values[:, start:end] / scale, axis=1) + before)
        before = out[:, end - 1 : end]
    return out


def _blurred(_: Floats, y: Floats, width: float) -> Floats:
    """The kernel reaches four standard deviations; at the ends and at gaps its weights are those that are left."""
    offsets = np.arange(-4 * int(width), 4 * int(width) + 1)
    kernel = np.exp(-0.5 * (offsets / width) ** 2)
    good = ~np.isnan(y)
    sums, weights = (_spread(column, kernel) for column in (np.where(good, y, 0.0), good.astype(np.float64)))
    out: Floats = sums / weights
    return out


def _spread(column: Floats, kernel: Floats) -> Floats:
    whole = np.convolve(column, kernel)
    start = len(kernel) // 2
    return whole[start : start + len(column)]


def _median(_: Floats, y: Floats, width: float) -> Floats:
    """Of the known points in the window, which is shorter at the ends."""
    half = int(width) // 2
    padded = np.pad(y, half, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    # A point that is unknown may have nobody around it: its median is not asked for.
    out = np.full(len(y), np.nan)
    known = np.flatnonzero(~np.isnan(y))
    for part in _parts(known, windows.shape[1]):
        out[part] = np.nanmedian(windows[part], axis=1)
    return out


def _parts(places: Places, width: int) -> Iterator[Places]:
    """The places, in parts whose windows fit into memory."""
    at_once = max(1, AT_ONCE // width)
    return (places[start : start + at_once] for start in range(0, len(places), at_once))
