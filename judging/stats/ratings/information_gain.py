"""Which comparison would tell most: how much less is unknown of all differences after one more vote on each pair."""

from __future__ import annotations

import numpy as np

from judging.stats.ratings.counts import Counts, counts
from judging.stats.ratings.maximum_likelihood import Fit, information
from judging.stats.votes import Floats, Votes


def telling(votes: Votes, found: Fit) -> Floats:
    """By how much one more vote on each pair lowers the variance, in nats², summed over the differences of all pairs.
    float64[n, n], symmetric, 0 on the diagonal; of a half-win fit."""
    return gains(covariance_of(counts(votes), found), found.theta)


def covariance_of(summed: Counts, found: Fit) -> Floats:
    """Of strengths whose mean is 0, as their fit has it. float64[n, n]."""
    return np.asarray(np.linalg.pinv(information(summed, found.theta, found.nu), hermitian=True), np.float64)


def gains(covariance: Floats, theta: Floats) -> Floats:
    """The same of strengths, float64[n], with their covariance, float64[n, n].

    With the covariance S, d = ei - ej and w = p(1 - p), the vote lowers the variance of a contrast c by
    w (c'Sd)² / (1 + w d'Sd) (Sherman and Morrison). Summed over all c = ek - el that is n |Sd|² w / (1 + w d'Sd), as Sd
    adds up to 0.
    """
    columns = covariance[:, :, None] - covariance[:, None, :]
    variances = np.diag(covariance)
    apart = variances[:, None] + variances[None, :] - 2 * covariance
    weight = _weight(theta[:, None] - theta[None, :])
    return np.asarray(len(covariance) * weight * (columns**2).sum(axis=0) / (1 + weight * apart))


def less(covariance: Floats, theta: Floats, one: int, other: int) -> Floats:
    """The covariance after one more vote between two, however it comes out. float64[n, n]."""
    weight, column = _weight(theta[one] - theta[other]), covariance[:, one] - covariance[:, other]
    return np.asarray(
        covariance - weight * np.outer(column, column) / (1 + weight * (column[one] - column[other])), np.float64
    )


def _weight(apart: Floats) -> Floats:
    chance = 1 / (1 + np.exp(-apart))
    return np.asarray(chance * (1 - chance))
