"""The covariance of strengths by formula: H⁻¹ (Σ g g') H⁻¹, with g the slope of each cluster's likelihood.

Holds with many clusters; the bootstrap says the same without the formula (`bootstrap.py`). Ties are half wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import counts, summed
from judging.stats.ratings.intervals import Interval, standard_errors
from judging.stats.ratings.maximum_likelihood import Fit, information
from judging.stats.votes import COUNTED, Floats, Ints, Votes


@dataclass(frozen=True)
class Covariance:
    """matrix: float64[n, n] in nats², of strengths with mean 0. clusters: over how many."""

    matrix: Floats
    clusters: int

    def of_difference(self, i: int, j: int) -> float:
        """The standard error of strength i minus strength j, in nats."""
        variance = self.matrix[i, i] + self.matrix[j, j] - 2 * self.matrix[i, j]
        return float(np.sqrt(max(variance, 0.0)))

    def intervals(self, theta: Floats, level: float = 0.95) -> Interval:
        """Of strengths with mean 0, in nats."""
        wide = NormalDist().inv_cdf((1 + level) / 2) * standard_errors(self.matrix)
        return Interval(theta - wide, theta + wide)


def sandwich(votes: Votes, found: Fit, cluster: Ints | None = None) -> Covariance:
    """Of a half-win fit. cluster: int64[votes], else the prompts.

    The usual correction for few clusters stands in it: C / (C - 1) · (N - 1) / (N - K) with K = n - 1. Raises
    NoEstimate with fewer than two clusters, or no more votes than strengths.
    """
    counted, cluster = votes.counted, (votes.prompt if cluster is None else cluster)[np.isin(votes.outcome, COUNTED)]
    names, cluster = np.unique(cluster, return_inverse=True)
    size, free = len(counted), len(votes.contestants) - 1
    if len(names) < 2 or size <= free:
        raise NoEstimate(f"{size} votes in {len(names)} clusters leave nothing to tell {free} strengths' errors from")
    inverse = np.linalg.pinv(information(counts(counted), found.theta, found.nu), hermitian=True)
    slopes = _slopes(counted, found.theta, cluster.reshape(-1), len(names))
    correction = len(names) / (len(names) - 1) * (size - 1) / (size - free)
    return Covariance(correction * inverse @ (slopes.T @ slopes) @ inverse, len(names))


def _slopes(votes: Votes, theta: Floats, cluster: Ints, clusters: int) -> Floats:
    """Each cluster's slope by each strength. float64[clusters, n]."""
    n = len(theta)
    residual = votes.weight * (votes.score - 1 / (1 + np.exp(theta[votes.b] - theta[votes.a])))
    up, down = (summed(cluster * n + who, residual, clusters * n) for who in (votes.a, votes.b))
    return (up - down).reshape(clusters, n)
