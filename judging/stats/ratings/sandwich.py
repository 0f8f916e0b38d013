"""Covariance of strengths by the sandwich formula: H⁻¹ (Σ g g') H⁻¹, with g the slope of each cluster's likelihood.

The formula holds with many clusters; the bootstrap gives the same without it (`bootstrap.py`). Ties are half wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import pair_counts, sum_at
from judging.stats.ratings.intervals import Interval, standard_errors
from judging.stats.ratings.maximum_likelihood import Fit, information
from judging.stats.votes import COUNTED, Floats, Ints, Votes


@dataclass(frozen=True)
class Covariance:
    """Covariance of strengths.

    matrix: float64[n, n] in nats², of strengths with mean 0. clusters: the number of clusters.
    """

    matrix: Floats
    clusters: int

    def difference_error(self, i: int, j: int) -> float:
        """Return the standard error of strength i minus strength j, in nats."""
        variance = self.matrix[i, i] + self.matrix[j, j] - 2 * self.matrix[i, j]
        return float(np.sqrt(max(variance, 0.0)))

    def intervals(self, theta: Floats, level: float = 0.95) -> Interval:
        """Return the intervals of strengths with mean 0, in nats."""
        wide = NormalDist().inv_cdf((1 + level) / 2) * standard_errors(self.matrix)
        return Interval(theta - wide, theta + wide)


def sandwich_covariance(votes: Votes, fitted: Fit, cluster: Ints | None = None) -> Covariance:
    """Return the covariance of a half-win fit. cluster: int64[votes], by default the prompts.

    It includes the usual correction for few clusters: C / (C - 1) · (N - 1) / (N - K) with K = n - 1. Raise NoEstimate
    with fewer than two clusters, or with at most K votes.
    """
    counted, cluster = votes.counted, (votes.prompt if cluster is None else cluster)[np.isin(votes.outcome, COUNTED)]
    names, cluster = np.unique(cluster, return_inverse=True)
    size, free = len(counted), len(votes.contestants) - 1
    if len(names) < 2 or size <= free:
        raise NoEstimate(f"{size} votes in {len(names)} clusters leave nothing to tell {free} strengths' errors from")
    inverse = np.linalg.pinv(information(pair_counts(counted), fitted.theta, fitted.nu), hermitian=True)
    slopes = _slopes(counted, fitted.theta, cluster.reshape(-1), len(names))
    correction = len(names) / (len(names) - 1) * (size - 1) / (size - free)
    return Covariance(correction * inverse @ (slopes.T @ slopes) @ inverse, len(names))


def _slopes(votes: Votes, theta: Floats, cluster: Ints, clusters: int) -> Floats:
    """Return each cluster's slope by each strength. float64[clusters, n]."""
    n = len(theta)
    residual = votes.weight * (votes.score - 1 / (1 + np.exp(theta[votes.b] - theta[votes.a])))
    up, down = (sum_at(cluster * n + who, residual, clusters * n) for who in (votes.a, votes.b))
    return (up - down).reshape(clusters, n)
