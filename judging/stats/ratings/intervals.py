"""Resampled strengths -> intervals, the chance of each rank, and which ranks the intervals leave open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from judging.stats.votes import Floats, Ints

SAME = 1e-9
"""Strengths that differ by less are the same: what is left is rounding."""


class Interval(NamedTuple):
    """low, high: float64[...], alike in shape."""

    low: Floats
    high: Floats


def percentile(draws: Floats, level: float = 0.95) -> Interval:
    """The middle `level` of draws along their first axis. Raises ValueError for a level that is none."""
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1, not be {level}")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Interval(np.asarray(low), np.asarray(high))


def standard_errors(covariance: Floats) -> Floats:
    """Of a covariance's own variables; a variance that rounding took below zero is zero. float64[n]."""
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0)))


def rank_probabilities(theta: Floats) -> Floats:
    """P[i, r]: the share of draws in which i has rank r + 1; draws in which it shares ranks are shared among them.

    theta: float64[draws, n]. Returns float64[n, n], rows and columns each adding up to 1.
    """
    above, same = np.zeros(theta.shape), np.zeros(theta.shape)
    for other in theta.T:
        above += other[:, None] > theta + SAME
        same += abs(other[:, None] - theta) <= SAME
    ranks = range(theta.shape[1])
    return np.array([(((above <= rank) & (rank < above + same)) / same).mean(axis=0) for rank in ranks]).T


def rank_intervals(low: Floats, high: Floats) -> Ints:
    """The best and the worst rank that intervals leave open, as the arena does: 1 + how many lie wholly above; n - how
    many lie wholly below. low, high: float64[n]. Returns int64[n, 2]."""
    best = 1 + (low[None, :] > high[:, None]).sum(axis=1)
    worst = len(low) - (high[None, :] < low[:, None]).sum(axis=1)
    return np.stack([best, worst], axis=1)
