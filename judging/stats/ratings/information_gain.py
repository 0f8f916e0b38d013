"""Information gain of one more vote on each pair: the decrease in the variance of all differences."""

from __future__ import annotations

import numpy as np

from judging.stats.ratings.counts import Counts, pair_counts
from judging.stats.ratings.maximum_likelihood import Fit, information
from judging.stats.votes import Floats, Votes


def information_gains(votes: Votes, fitted: Fit) -> Floats:
    """Return the decrease in variance by one more vote on each pair, summed over the differences of all pairs.

    float64[n, n], in nats², symmetric, 0 on the diagonal; for a half-win fit.
    """
    return gains_by_covariance(strength_covariance(pair_counts(votes), fitted), fitted.theta)


def strength_covariance(totals: Counts, fitted: Fit) -> Floats:
    """Return the covariance of fitted strengths with mean 0. float64[n, n]."""
    return np.asarray(np.linalg.pinv(information(totals, fitted.theta, fitted.nu), hermitian=True), np.float64)


def gains_by_covariance(covariance: Floats, theta: Floats) -> Floats:
    """Return the gains for strengths, float64[n], with their covariance, float64[n, n].

    With the covariance S, d = ei - ej and w = p(1 - p), the vote lowers the variance of a contrast c by
    w (c'Sd)² / (1 + w d'Sd) (Sherman and Morrison). Summed over all c = ek - el that is n |Sd|² w / (1 + w d'Sd), as Sd
    adds up to 0.
    """
    columns = covariance[:, :, None] - covariance[:, None, :]
    variances = np.diag(covariance)
    apart = variances[:, None] + variances[None, :] - 2 * covariance
    weight = _weight(theta[:, None] - theta[None, :])
    return np.asarray(len(covariance) * weight * (columns**2).sum(axis=0) / (1 + weight * apart))


def covariance_after_vote(covariance: Floats, theta: Floats, first: int, second: int) -> Floats:
    """Return the covariance after one more vote between two contestants, for any outcome. float64[n, n]."""
    weight, column = _weight(theta[first] - theta[second]), covariance[:, first] - covariance[:, second]
    return np.asarray(
        covariance - weight * np.outer(column, column) / (1 + weight * (column[first] - column[second])), np.float64
    )


def _weight(apart: Floats) -> Floats:
    chance = 1 / (1 + np.exp(-apart))
    return np.asarray(chance * (1 - chance))
