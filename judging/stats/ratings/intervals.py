"""Intervals, rank probabilities and rank ranges from resampled strengths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from judging.stats.votes import Floats, Ints

ROUNDING_TOLERANCE = 1e-9
"""Strengths that differ by less are equal: the difference is rounding."""


class Interval(NamedTuple):
    """Interval. low, high: float64[...] of equal shape."""

    low: Floats
    high: Floats


def percentile_interval(draws: Floats, level: float = 0.95) -> Interval:
    """Return the central `level` of draws along their first axis. Raise ValueError unless level is between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level must be between 0 and 1, not {level}")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Interval(np.asarray(low), np.asarray(high))


def standard_errors(covariance: Floats) -> Floats:
    """Return the standard errors of a covariance; a variance that is negative by rounding is zero. float64[n]."""
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0)))


def rank_probabilities(theta: Floats) -> Floats:
    """Return P[i, r]: the share of draws in which i has rank r + 1. A draw with tied ranks is divided among them.

    theta: float64[draws, n]. Returns float64[n, n], rows and columns each adding up to 1.
    """
    above, same = np.zeros(theta.shape), np.zeros(theta.shape)
    for other in theta.T:
        above += other[:, None] > theta + ROUNDING_TOLERANCE
        same += abs(other[:, None] - theta) <= ROUNDING_TOLERANCE
    ranks = range(theta.shape[1])
    return np.array([(((above <= rank) & (rank < above + same)) / same).mean(axis=0) for rank in ranks]).T


def rank_intervals(low: Floats, high: Floats) -> Ints:
    """Return the best and the worst rank that intervals leave open, as the arena does. int64[n, 2].

    The best rank is 1 + the number of intervals wholly above; the worst is n - the number wholly below. low, high:
    float64[n].
    """
    best = 1 + (low[None, :] > high[:, None]).sum(axis=1)
    worst = len(low) - (high[None, :] < low[:, None]).sum(axis=1)
    return np.stack([best, worst], axis=1)
