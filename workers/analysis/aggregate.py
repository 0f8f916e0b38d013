"""Summarise numbers of several seeds: their middle, and two limits around it. NaN stands for a missing seed.

Mean, median and interquartile mean (Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
Precipice", NeurIPS 2021). Intervals over seeds are t-intervals: a percentile bootstrap of n seeds is too narrow. Its
95 % cover 53 % at n = 2, 85 % at n = 5 and 89 % at n = 10.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.analysis.seed_intervals import t_factors

Floats: TypeAlias = NDArray[np.float64]

MIDDLES = {"mean": "mean", "median": "median", "iqm": "interquartile mean"}
SPREADS = {
    "range": "min–max",
    "std": "±1 std",
    "se": "±1 standard error",
    "ci": "95 % t-interval",
    "quartiles": "25–75 %",
}


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
    if at is None:
        at = middle(values, center)
    # The deviation is taken about the mean, which is mostly known: computing it is a third of the work here.
    precomputed = {"mean": at[None]} if center == "mean" else {}
    width = _summarise(np.std, np.nanstd, values, ddof=1, **precomputed)
    if spread in ("se", "ci"):
        n = (~np.isnan(values)).sum(axis=0)
        width = width / np.sqrt(n) if spread == "se" else width * t_factors(n, center)
    return at - width, at + width


def _interquartile_mean(values: Floats) -> Floats:
    ranked = np.sort(values, axis=-2)
    present = (~np.isnan(values)).sum(axis=-2, keepdims=True)
    rank = np.arange(values.shape[-2])[:, None]
    inner = (rank >= present // 4) & (rank < present - present // 4)
    return _summarise(np.mean, np.nanmean, np.where(inner, ranked, np.nan))


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
