"""The effects of covariates are removed, or a reason is given why they cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.ratings import NoEstimate, controlled_ratings
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome, Votes
from tests.judging.synthetic_votes import make_game_votes, make_random_votes


def with_length(votes: Votes, length: np.ndarray) -> Votes:
    return replace(votes, features={"length": length})


def test_adjusted_without_controls_is_bradley_terry():
    ballots = make_random_votes()
    assert controlled_ratings(ballots, []).theta == pytest.approx(fit(pair_counts(ballots)).theta, abs=1e-8)


def test_length_control_removes_length_advantage():
    rng = np.random.default_rng(0)
    ballots = make_random_votes(4000, 2, prompts=400, tie_rate=0, theta=np.zeros(2))
    longer = np.where(ballots.a == 0, 1, -1) * rng.uniform(-0.2, 1, len(ballots))
    wins = rng.random(len(ballots)) < 1 / (1 + np.exp(-2 * longer))
    ballots = with_length(replace(ballots, outcome=np.where(wins, Outcome.A, Outcome.B).astype(np.int64)), longer)
    raw, controlled = controlled_ratings(ballots, []).theta, controlled_ratings(ballots, ["length"])
    assert raw[0] > 0.3
    assert abs(controlled.theta[0]) < 2.5 * np.sqrt(controlled.covariance[0, 0])
    assert controlled.effects["length"].value / longer.std() == pytest.approx(2, abs=0.3)


def test_votes_without_covariate_are_left_out():
    ballots = make_random_votes()
    length = np.random.default_rng(0).normal(size=len(ballots))
    length[:100] = np.nan
    estimate = controlled_ratings(with_length(ballots, length), ["length"])
    assert (estimate.votes, estimate.left_out) == (1900, 100)


def test_position_effect_is_estimated_when_first_is_constant():
    ballots = replace(make_random_votes(), shown_first=np.ones(2000, np.int64))
    assert abs(controlled_ratings(ballots, ["position"]).effects["position"].value) < 0.2


@pytest.mark.parametrize(
    ("length", "reason"),
    [
        (lambda n: np.zeros(n), "length is the same in every comparison: it explains nothing"),
        (lambda n: np.full(n, np.nan), "No vote says what the controls ask for"),
    ],
)
def test_uninformative_control_is_refused(length, reason):
    with pytest.raises(NoEstimate, match=reason):
        controlled_ratings(with_length(make_random_votes(), length(2000)), ["length"])


def test_separating_control_is_refused():
    ballots = make_random_votes(tie_rate=0)
    length = np.where(ballots.outcome == Outcome.A, 1.0, -1.0)
    with pytest.raises(NoEstimate, match="tell winners from losers without exception"):
        controlled_ratings(with_length(ballots, length), ["length"])


def test_collinear_control_is_refused():
    ballots = make_random_votes(contestants=2)
    with pytest.raises(NoEstimate, match="one of the controls follows from the others"):
        controlled_ratings(with_length(ballots, np.where(ballots.a == 0, 1.0, -1.0)), ["length"])


def test_controls_require_ratings():
    with pytest.raises(NoEstimate, match="ada won every comparison"):
        controlled_ratings(make_game_votes(("ada", "bo"), (0, 1, Outcome.A), (0, 1, Outcome.A)), ["position"])


def test_unknown_control_is_refused_with_choices():
    with pytest.raises(ValueError, match="unknown control tone; known are position, length"):
        controlled_ratings(with_length(make_random_votes(), np.zeros(2000)), ["tone"])
