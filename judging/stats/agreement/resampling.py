"""A statistic of tables that add up, with its interval: prompts are resampled with all their items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judging.stats.votes import Floats, Ints

DRAWN_AT_ONCE = 5_000_000


@dataclass(frozen=True)
class Estimate:
    """value: None where it is undefined, and `why` says so. low, high: None where there is no interval. undefined: the
    share of resamples in which it was."""

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: float = 0.0
    why: str = ""


def estimate(
    tables: Floats,
    cluster: Ints,
    statistic: Callable[[Floats], Floats],
    why: str,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """`statistic` of the tables' sum, and of the sums of resamples. tables: float64[items, ...]; cluster: int64[items];
    `statistic` takes float64[resamples, ...] and is NaN where undefined; `why` is said then."""
    value = float(statistic(tables.sum(axis=0)[None])[0])
    if np.isnan(value):
        return Estimate(None, why=why)
    names, number = np.unique(cluster, return_inverse=True)
    if len(names) < 2:
        return Estimate(value)
    summed = np.zeros((len(names), tables[0].size))
    np.add.at(summed, number.reshape(-1), tables.reshape(len(tables), -1))
    draws = statistic(_drawn(summed, np.random.default_rng(seed), resamples).reshape(resamples, *tables.shape[1:]))
    sound = draws[~np.isnan(draws)]
    undefined = 1 - len(sound) / resamples
    if undefined > (1 - level) / 2:
        return Estimate(value, undefined=undefined)
    low, high = np.quantile(sound, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high), undefined)


def share(sums: Floats) -> Floats:
    """A statistic: the first of two numbers of the second. float64[..., 2] -> float64[...], NaN of none."""
    found = np.full(sums.shape[:-1], np.nan)
    np.divide(sums[..., 0], sums[..., 1], out=found, where=sums[..., 1] > 0)
    return found


def _drawn(summed: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Sums over as many clusters as there are, drawn again and again. float64[resamples, cells]."""
    # Clusters with the same table are one kind: of a hundred thousand single votes there are a few. Rounded, so that
    # the order in which items were summed makes no second kind of one.
    kinds, many = np.unique(summed.round(12), axis=0, return_counts=True)
    at_once = max(1, DRAWN_AT_ONCE // len(kinds))
    parts = [min(at_once, resamples - first) for first in range(0, resamples, at_once)]
    return np.concatenate([rng.multinomial(len(summed), many / len(summed), size=size) @ kinds for size in parts])
