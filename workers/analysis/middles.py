"""Numbers of several seeds -> one in their middle, and two around it. NaN stands for a seed that is not there.

Mean, median and interquartile mean, with bootstrap intervals over seeds, as Agarwal et al. ("Deep Reinforcement
Learning at the Edge of the Statistical Precipice", NeurIPS 2021) advise where seeds are few.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

MIDDLES = {"mean": "mean", "median": "median", "iqm": "interquartile mean"}
SPREADS = {
    "range": "min–max",
    "std": "±1 std",
    "se": "±1 standard error",
    "ci": "95 % bootstrap interval",
    "quartiles": "25–75 %",
}
RESAMPLES = 1000
AT_ONCE = 2_000_000
"""Resampled numbers that are held at a time."""


def middle(values: Floats, center: str) -> Floats:
    """float64[…, seeds, points] -> float64[…, points]: the mean, median or iqm (interquartile mean) of the seeds.

    The interquartile mean leaves out a quarter of the seeds at each end, rounded down: below four it is the mean.
    """
    if center == "median":
        return _summed(np.median, np.nanmedian, values)
    if center == "iqm":
        return _interquartile_mean(values)
    return _summed(np.mean, np.nanmean, values)


def around(values: Floats, center: str, spread: str, at: Floats | None = None) -> tuple[Floats, Floats]:
    """float64[seeds, points] -> (low, high), float64[points] each; NaN where the spread of one seed is asked for. at:
    their middle, where it is known already."""
    if spread == "range":
        return _summed(np.min, np.nanmin, values), _summed(np.max, np.nanmax, values)
    if spread == "quartiles":
        low, high = _summed(np.percentile, np.nanpercentile, values, q=[25, 75])
        return low, high
    if spread == "ci":
        return _bootstrapped(values, center)
    if at is None:
        at = middle(values, center)
    # About their mean: of all there is to sum up here it is a third, and mostly known.
    known = {"mean": at[None]} if center == "mean" else {}
    width = _summed(np.std, np.nanstd, values, ddof=1, **known)
    if spread == "se":
        width = width / np.sqrt((~np.isnan(values)).sum(axis=0))
    return at - width, at + width


def _interquartile_mean(values: Floats) -> Floats:
    ranked = np.sort(values, axis=-2)
    there = (~np.isnan(values)).sum(axis=-2, keepdims=True)
    rank = np.arange(values.shape[-2])[:, None]
    inner = (rank >= there // 4) & (rank < there - there // 4)
    return _summed(np.mean, np.nanmean, np.where(inner, ranked, np.nan))


def _bootstrapped(values: Floats, center: str) -> tuple[Floats, Floats]:
    """The percentile bootstrap over whole seeds: a seed's curve is drawn or not, never a point of it."""
    seeds = len(values)
    drawn = np.random.default_rng(0).integers(0, seeds, (RESAMPLES, seeds))
    parts = [np.nanpercentile(middle(values[:, part][drawn], center), [2.5, 97.5], axis=0) for part in _parts(values)]
    low, high = np.concatenate(parts, axis=1)
    return low, high


def _parts(values: Floats) -> Iterator[slice]:
    """The points, in parts whose resamples fit into memory."""
    seeds, points = values.shape
    width = max(1, AT_ONCE // (RESAMPLES * seeds))
    return (slice(start, start + width) for start in range(0, points, width))


def _summed(of_all: Callable[..., Floats], of_some: Callable[..., Floats], values: Floats, **options: object) -> Floats:
    """numpy's summary over the seeds: the one that knows no NaN where there is none, for it is many times quicker, and
    tells by its answer. The other's answer is NaN where nobody, or one alone, is there: no reason for a warning."""
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if values.shape[-2] > 1 and not np.isnan(found := of_all(values, axis=-2, **options)).any():
            return found
        return of_some(values, axis=-2, **options)
