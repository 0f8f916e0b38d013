"""What else decided comparisons is taken out, or it is said why it cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.ratings import NoEstimate, adjusted
from judging.stats.ratings.counts import counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome, Votes
from tests.judging.synthetic_votes import invented, told


def with_length(votes: Votes, length: np.ndarray) -> Votes:
    return replace(votes, features={"length": length})


def test_without_controls_it_is_bradley_terry():
    made = invented()
    assert adjusted(made, []).theta == pytest.approx(fit(counts(made)).theta, abs=1e-8)


def test_who_wins_by_length_alone_is_no_better_once_length_is_known():
    rng = np.random.default_rng(0)
    made = invented(4000, 2, prompts=400, tie_rate=0, theta=np.zeros(2))
    longer = np.where(made.a == 0, 1, -1) * rng.uniform(-0.2, 1, len(made))
    wins = rng.random(len(made)) < 1 / (1 + np.exp(-2 * longer))
    made = with_length(replace(made, outcome=np.where(wins, Outcome.A, Outcome.B).astype(np.int64)), longer)
    raw, controlled = adjusted(made, []).theta, adjusted(made, ["length"])
    assert raw[0] > 0.3
    assert abs(controlled.theta[0]) < 2.5 * np.sqrt(controlled.covariance[0, 0])
    assert controlled.effects["length"].value / longer.std() == pytest.approx(2, abs=0.3)


def test_votes_that_do_not_say_are_left_out_and_counted():
    made = invented()
    length = np.random.default_rng(0).normal(size=len(made))
    length[:100] = np.nan
    found = adjusted(with_length(made, length), ["length"])
    assert (found.votes, found.left_out) == (1900, 100)


def test_all_standing_on_the_left_is_what_a_home_game_is():
    made = replace(invented(), shown_first=np.ones(2000, np.int64))
    assert abs(adjusted(made, ["position"]).effects["position"].value) < 0.2


@pytest.mark.parametrize(
    ("length", "why"),
    [
        (lambda n: np.zeros(n), "length is the same in every comparison: it explains nothing"),
        (lambda n: np.full(n, np.nan), "No vote says what the controls ask for"),
    ],
)
def test_a_control_that_says_nothing_is_refused(length, why):
    with pytest.raises(NoEstimate, match=why):
        adjusted(with_length(invented(), length(2000)), ["length"])


def test_a_control_that_decides_everything_is_refused():
    made = invented(tie_rate=0)
    length = np.where(made.outcome == Outcome.A, 1.0, -1.0)
    with pytest.raises(NoEstimate, match="tell winners from losers without exception"):
        adjusted(with_length(made, length), ["length"])


def test_a_control_that_is_who_met_whom_is_refused():
    made = invented(contestants=2)
    with pytest.raises(NoEstimate, match="one of the controls follows from the others"):
        adjusted(with_length(made, np.where(made.a == 0, 1.0, -1.0)), ["length"])


def test_no_ratings_no_controls():
    with pytest.raises(NoEstimate, match="ada won every comparison"):
        adjusted(told(("ada", "bo"), (0, 1, Outcome.A), (0, 1, Outcome.A)), ["position"])


def test_an_unknown_control_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="there is no control tone; there are position, length"):
        adjusted(with_length(invented(), np.zeros(2000)), ["tone"])
