"""Which comparison would tell most: how much less is unknown of all differences after one more vote on each pair."""

from __future__ import annotations

import numpy as np

from judging.ratings.counts import counts
from judging.ratings.fitting import Fit, information
from judging.votes import Floats, Votes


def telling(votes: Votes, found: Fit) -> Floats:
    """By how much one more vote on each pair lowers the variance, in nats², summed over the differences of all pairs.
    float64[n, n], symmetric, 0 on the diagonal; of a half-win fit.

    With the covariance S, d = ei - ej and w = p(1 - p), the vote lowers the variance of a contrast c by
    w (c'Sd)² / (1 + w d'Sd) (Sherman and Morrison). Summed over all c = ek - el that is n |Sd|² w / (1 + w d'Sd), as Sd
    adds up to 0.
    """
    covariance = np.linalg.pinv(information(counts(votes), found.theta, found.nu), hermitian=True)
    columns = covariance[:, :, None] - covariance[:, None, :]
    variances = np.diag(covariance)
    apart = variances[:, None] + variances[None, :] - 2 * covariance
    chance = 1 / (1 + np.exp(found.theta[None, :] - found.theta[:, None]))
    weight = chance * (1 - chance)
    return np.asarray(len(covariance) * weight * (columns**2).sum(axis=0) / (1 + weight * apart))
