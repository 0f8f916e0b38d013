"""Standard errors, rank probabilities from resamples, and the ranks that intervals of differences leave open."""

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
    """Return the best and the worst rank that the differences leave open. int64[n, 2].

    The best rank is 1 + the number of contestants decided to be above; the worst is n - the number decided to be below.
    low, high: float64[n, n], intervals of the row's strength minus the column's; a pair is decided if its interval
    leaves 0 out. Intervals of single strengths would decide fewer pairs: two may overlap whose difference is certain.
    """
    n = len(low)
    return np.stack([1 + (high < 0).sum(axis=1), n - (low > 0).sum(axis=1)], axis=1)
