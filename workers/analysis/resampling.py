"""Estimate a statistic of summed tables with its interval, by resampling prompts with all their items.

Intervals are expanded percentiles (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.3).
Plain percentiles are as narrow as intervals of the normal distribution that divide by the number of prompts, not by one
less, and cover too little if there are few prompts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.analysis.student_t import t_quantile

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
MAX_TABLES_PER_BLOCK = 5_000_000


@dataclass(frozen=True)
class Estimate:
    """Estimate of a statistic.

    value: None if it is undefined, for the reason `why`. low, high: None if there is no interval. undefined: the share
    of resamples in which the statistic was undefined.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: float = 0.0
    why: str = ""


def estimate_statistic(
    tables: Floats,
    cluster: Ints,
    statistic: Callable[[Floats], Floats],
    reason: str,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Estimate `statistic` from the tables' sum, and its interval from the sums of resamples.

    tables: float64[items, ...]. cluster: int64[items]. `statistic` takes float64[resamples, ...] and returns NaN if it
    is undefined; `reason` is then the estimate's `why`.
    """
    value = float(statistic(tables.sum(axis=0)[None])[0])
    if np.isnan(value):
        return Estimate(None, why=reason)
    names, number = np.unique(cluster, return_inverse=True)
    if len(names) < 2:
        return Estimate(value)
    summed = np.zeros((len(names), tables[0].size))
    np.add.at(summed, number.reshape(-1), tables.reshape(len(tables), -1))
    draws = statistic(
        _resampled_sums(summed, np.random.default_rng(seed), resamples).reshape(resamples, *tables.shape[1:])
    )
    sound = draws[~np.isnan(draws)]
    undefined = 1 - len(sound) / resamples
    if undefined > (1 - level) / 2:
        return Estimate(value, undefined=undefined)
    tail = expanded_tail(len(names), level)
    low, high = np.quantile(sound, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), undefined)


def expanded_tail(clusters: int, level: float = 0.95) -> float:
    """Return the share of resamples beyond either end of an interval, so that it is as wide as Student's t requires.

    clusters: the number of units that are resampled, at least two.
    """
    return NormalDist().cdf(-t_quantile(clusters - 1, level) * math.sqrt(clusters / (clusters - 1)))


def share_statistic(sums: Floats) -> Floats:
    """Return the first of two numbers divided by the second, NaN if that is 0. float64[..., 2] -> float64[...]."""
    shares = np.full(sums.shape[:-1], np.nan)
    np.divide(sums[..., 0], sums[..., 1], out=shares, where=sums[..., 1] > 0)
    return shares


def _resampled_sums(summed: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Return sums over as many sampled clusters as there are clusters. float64[resamples, cells]."""
    # Clusters with the same table are one kind, so a hundred thousand single votes have only a few kinds. Sums are
    # rounded, because the order of summation must not split a kind.
    kinds, kind_counts = np.unique(summed.round(12), axis=0, return_counts=True)
    block_size = max(1, MAX_TABLES_PER_BLOCK // len(kinds))
    block_sizes = [min(block_size, resamples - first) for first in range(0, resamples, block_size)]
    return np.concatenate(
        [rng.multinomial(len(summed), kind_counts / len(summed), size=size) @ kinds for size in block_sizes]
    )
