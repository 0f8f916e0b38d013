"""Summarise numbers of several seeds: their middle, and two limits around it. NaN stands for a missing seed.

Mean, median and interquartile mean, with bootstrap intervals over seeds, as Agarwal et al. ("Deep Reinforcement
Learning at the Edge of the Statistical Precipice", NeurIPS 2021) advise if seeds are few.
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
MAX_RESAMPLED = 2_000_000
"""The number of resampled values in memory at the same time."""


def middle(values: Floats, center: str) -> Floats:
    """Summarise float64[…, seeds, points] -> float64[…, points] by the mean, median or iqm (interquartile mean) of the
    seeds.

    The interquartile mean leaves out a quarter of the seeds at each end, rounded down: below four it is the mean.
    """
    if center == "median":
        return _summarise(np.median, np.nanmedian, values)
    if center == "iqm":
        return _interquartile_mean(values)
    return _summarise(np.mean, np.nanmean, values)


def around(values: Floats, center: str, spread: str, at: Floats | None = None) -> tuple[Floats, Floats]:
    """Return (low, high), float64[points] each, of float64[seeds, points]; NaN for the spread of one seed. at: their
    middle, if it is known already."""
    if spread == "range":
        return _summarise(np.min, np.nanmin, values), _summarise(np.max, np.nanmax, values)
    if spread == "quartiles":
        low, high = _summarise(np.percentile, np.nanpercentile, values, q=[25, 75])
        return low, high
    if spread == "ci":
        return _bootstrapped(values, center)
    if at is None:
        at = middle(values, center)
    # The deviation is taken about the mean, which is mostly known: computing it is a third of the work here.
    precomputed = {"mean": at[None]} if center == "mean" else {}
    width = _summarise(np.std, np.nanstd, values, ddof=1, **precomputed)
    if spread == "se":
        width = width / np.sqrt((~np.isnan(values)).sum(axis=0))
    return at - width, at + width


def _interquartile_mean(values: Floats) -> Floats:
    ranked = np.sort(values, axis=-2)
    present = (~np.isnan(values)).sum(axis=-2, keepdims=True)
    rank = np.arange(values.shape[-2])[:, None]
    inner = (rank >= present // 4) & (rank < present - present // 4)
    return _summarise(np.mean, np.nanmean, np.where(inner, ranked, np.nan))


def _bootstrapped(values: Floats, center: str) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap over whole seeds: a seed's curve is sampled or not, never a point of it."""
    seeds = len(values)
    sampled = np.random.default_rng(0).integers(0, seeds, (RESAMPLES, seeds))
    parts = [np.nanpercentile(middle(values[:, part][sampled], center), [2.5, 97.5], axis=0) for part in _parts(values)]
    low, high = np.concatenate(parts, axis=1)
    return low, high


def _parts(values: Floats) -> Iterator[slice]:
    """Yield the points in slices whose resamples fit into memory."""
    seeds, points = values.shape
    width = max(1, MAX_RESAMPLED // (RESAMPLES * seeds))
    return (slice(start, start + width) for start in range(0, points, width))


def _summarise(
    without_nan: Callable[..., Floats], ignoring_nan: Callable[..., Floats], values: Floats, **options: object
) -> Floats:
    """Summarise over the seeds by numpy's variant for values without NaN, which is many times quicker, and fall back on
    the other if the result holds NaN. The fallback gives NaN if no seed, or one alone, is present: no reason for a
    warning."""
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if values.shape[-2] > 1 and not np.isnan(summary := without_nan(values, axis=-2, **options)).any():
            return summary
        return ignoring_nan(values, axis=-2, **options)
