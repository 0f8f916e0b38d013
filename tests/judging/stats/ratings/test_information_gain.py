"""The next comparison is chosen by its information gain."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import information_gains
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.maximum_likelihood import fit, information
from judging.stats.votes import Outcome
from tests.judging.synthetic_votes import make_game_votes, make_random_votes


def summed_variance(hessian: np.ndarray) -> float:
    """Return the summed variance of all pairwise differences."""
    covariance = np.linalg.pinv(hessian, hermitian=True)
    size = range(len(covariance))
    return sum(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j] for i in size for j in size if i < j)


def test_information_gain_is_reduction_of_variances():
    ballots = make_random_votes(size=200)
    fitted = fit(pair_counts(ballots))
    before = information(pair_counts(ballots), fitted.theta, fitted.nu)
    lowered = information_gains(ballots, fitted)
    for i, j in ((0, 1), (2, 5), (4, 3)):
        chance = 1 / (1 + np.exp(fitted.theta[j] - fitted.theta[i]))
        apart = np.eye(6)[i] - np.eye(6)[j]
        after = before + chance * (1 - chance) * np.outer(apart, apart)
        assert lowered[i, j] == pytest.approx(summed_variance(before) - summed_variance(after), rel=1e-9)


def test_information_gain_prefers_rare_contestants():
    often = [(0, 1, Outcome.A), (1, 0, Outcome.A)] * 20
    ballots = make_game_votes(("ada", "bo", "cy"), *often, (1, 2, Outcome.TIE))
    lowered = information_gains(ballots, fit(pair_counts(ballots)))
    assert 2 in np.unravel_index(lowered.argmax(), lowered.shape)
    assert (np.diag(lowered) == 0).all()
    assert lowered == pytest.approx(lowered.T)
