"""Smooth a curve over all its points, whichever of them are plotted, and without a pull towards its start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.analysis.aggregate import Floats

Positions: TypeAlias = NDArray[np.int64]

MAX_WINDOW = 1001
"""Points: a wider window of a million of them takes seconds."""
BATCH_SIZE = 2_000_000
MIN_WEIGHT = 1e-100
"""The least weight that is divided by: far above the size at which a float64 loses digits."""
KIND_AND_AMOUNT = re.compile(r"(gaussian|median)-(\d{1,4})")


@dataclass(frozen=True)
class Smoothing:
    """A kind of smoothing. ema: an average in which a point counts `amount` (0 to below 1) times as much as a point one
    usual step later. gaussian: weights of a normal distribution, `amount` points its standard deviation. median: of
    `amount` points around each, an odd number. An amount of 0 changes nothing."""

    kind: str = "ema"
    amount: float = 0.0

    def __bool__(self) -> bool:
        return self.amount > 0

    def __str__(self) -> str:
        return f"{self.amount:g}" if self.kind == "ema" else f"{self.kind}-{self.amount:g}"

    @property
    def words(self) -> str:
        """A description, for a hint."""
        return {
            "ema": f"an exponential moving average of weight {self.amount:g} a usual step, debiased",
            "gaussian": f"a Gaussian of {self.amount:g} points' standard deviation",
            "median": f"the median of the {self.amount:g} points around each",
        }[self.kind]

    @classmethod
    def parse(cls, text: str) -> Smoothing:
        """Parse `0.9`, `gaussian-5` or `median-9`. Raise ValueError with the valid forms for any other text."""
        if match := KIND_AND_AMOUNT.fullmatch(text):
            kind, amount = match[1], int(match[2])
            if (1 <= amount <= MAX_WINDOW // 8) if kind == "gaussian" else (amount % 2 and amount <= MAX_WINDOW):
                return cls(kind, amount)
        else:
            try:
                weight = float(text)
            except ValueError:
                weight = -1.0
            if 0 <= weight <= 0.999:
                return cls("ema", weight)
        raise ValueError(
            f"must be a number from 0 to 0.999, gaussian-N (N up to {MAX_WINDOW // 8}) or median-N (N odd, "
            f"up to {MAX_WINDOW})"
        )


def smooth(x: Floats, y: Floats, smoothing: Smoothing) -> Floats:
    """Smooth y over x, float64[n] each, x ascending; values of y that are not finite are ignored, and NaN in the
    result."""
    good = np.isfinite(y)
    finite = np.where(good, y, np.nan)
    if not smoothing or not good.any():
        return finite
    smoothed = {"ema": _averaged, "gaussian": _blurred, "median": _median}[smoothing.kind](x, finite, smoothing.amount)
    return np.where(good, smoothed, np.nan)


def _averaged(x: Floats, y: Floats, weight: float) -> Floats:
    """Average debiased as in Adam (Kingma and Ba, 2015), so that a curve does not start at zero; and by distance, not
    by number, so that the frequency of measurements does not matter."""
    distances = _distances(x)
    good = ~np.isnan(y)
    # In a unit in which no value is above 2: what comes before the weights are undone is a hundred digits larger.
    unit = 2.0 ** (np.frexp(np.nanmax(np.abs(y)))[1] - 1)
    sums, weights = _decayed(np.array([np.where(good, y / unit, 0.0), good]), distances, weight)
    with np.errstate(invalid="ignore"):
        # Before the first known point there is nothing to average.
        out: Floats = sums / weights * unit
    return out


def _distances(x: Floats) -> Floats:
    """Return the distance of each point from the first, in usual steps."""
    apart = np.diff(x)
    if len(apart) and apart[0] > 0 and (apart == apart[0]).all():
        return np.arange(float(len(x)))
    usual = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    return np.concatenate([[0.0], np.cumsum(apart / usual)])


def _decayed(values: Floats, distances: Floats, weight: float) -> Floats:
    """float64[rows, n] -> sum over k of weight ** (far[t] - far[k]) * values[:, k], k ≤ t.

    Stretch by stretch, each a running sum of what its points would weigh at its start: nearly all sums are numpy's, and
    a stretch ends before the weights do.
    """
    decay = np.log(weight)
    reach = np.log(MIN_WEIGHT) / decay
    cuts = np.flatnonzero(np.diff(np.floor(distances / reach))) + 1
    out, before = np.empty_like(values), np.zeros((len(values), 1))
    for start, end in pairwise([0, *cuts.tolist(), distances.size]):
        scale = np.exp(decay * (distances[start:end] - distances[start]))
        before = before * np.exp(decay * (distances[start] - distances[max(start - 1, 0)]))
        out[:, start:end] = scale * (np.cumsum(values[:, start:end] / scale, axis=1) + before)
        before = out[:, end - 1 : end]
    return out


def _blurred(_: Floats, y: Floats, width: float) -> Floats:
    """The kernel reaches four standard deviations; at the ends and at gaps only the remaining weights are used."""
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
    """Return the median of the known points in the window, which is shorter at the ends."""
    half = int(width) // 2
    padded = np.pad(y, half, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    # A point that is unknown may have no known point around it, so its median is not computed.
    out = np.full(len(y), np.nan)
    known_positions = np.flatnonzero(~np.isnan(y))
    for part in _parts(known_positions, windows.shape[1]):
        out[part] = np.nanmedian(windows[part], axis=1)
    return out


def _parts(positions: Positions, width: int) -> Iterator[Positions]:
    """Yield the positions in parts whose windows fit into memory."""
    batch_size = max(1, BATCH_SIZE // width)
    return (positions[start : start + batch_size] for start in range(0, len(positions), batch_size))
