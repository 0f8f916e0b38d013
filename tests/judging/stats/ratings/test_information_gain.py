"""The next comparison is chosen by what it would tell."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import telling
from judging.stats.ratings.counts import counts
from judging.stats.ratings.maximum_likelihood import fit, information
from judging.stats.votes import Outcome
from tests.judging.synthetic_votes import invented, told


def unknown(hessian: np.ndarray) -> float:
    """The variance of all differences of two, summed."""
    covariance = np.linalg.pinv(hessian, hermitian=True)
    size = range(len(covariance))
    return sum(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j] for i in size for j in size if i < j)


def test_it_is_what_one_more_vote_takes_from_all_variances():
    made = invented(size=200)
    found = fit(counts(made))
    before = information(counts(made), found.theta, found.nu)
    lowered = telling(made, found)
    for i, j in ((0, 1), (2, 5), (4, 3)):
        chance = 1 / (1 + np.exp(found.theta[j] - found.theta[i]))
        apart = np.eye(6)[i] - np.eye(6)[j]
        after = before + chance * (1 - chance) * np.outer(apart, apart)
        assert lowered[i, j] == pytest.approx(unknown(before) - unknown(after), rel=1e-9)


def test_it_asks_for_who_was_seldom_seen():
    often = [(0, 1, Outcome.A), (1, 0, Outcome.A)] * 20
    made = told(("ada", "bo", "cy"), *often, (1, 2, Outcome.TIE))
    lowered = telling(made, fit(counts(made)))
    assert 2 in np.unravel_index(lowered.argmax(), lowered.shape)
    assert (np.diag(lowered) == 0).all()
    assert lowered == pytest.approx(lowered.T)
