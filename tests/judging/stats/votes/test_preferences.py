"""Soft preferences: they are read from a preference or from probabilities, and count in part for each response."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from judging.stats.agreement import apply_swap_policy
from judging.stats.ratings import Elo, controlled_ratings, single_pass
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.ratings.sandwich import strength_errors
from judging.stats.votes import Judgment, Outcome, Votes, read_judgments, votes_by_criterion, votes_from_arrays
from tests.cases import each_case
from tests.judging.stats.ratings.test_reference_packages import design, jackknife_errors, relative_to_last
from tests.judging.synthetic_votes import make_random_votes

ROW = {"model_a": "ada", "model_b": "bo", "prompt_id": 1}
GENERATORS = {"generator_1": "ada", "generator_2": "bo", "instruction": "Why?"}


def read(row: dict[str, object]) -> Judgment:
    (judgment,) = read_judgments(json.dumps(row), "x").judgments
    return judgment


def soft_votes(size: int = 600) -> Votes:
    """Return votes, half of them soft, on 60 prompts."""
    votes, rng = make_random_votes(size), np.random.default_rng(3)
    share = np.where(rng.random(size) < 0.5, rng.random(size), np.nan)
    return replace(votes, preference=share, outcome=np.where(share > 0.5, 0, np.where(share < 0.5, 1, votes.outcome)))


@each_case(
    ("row", "outcome", "share"),
    [
        (GENERATORS | {"preference": 1.25}, Outcome.A, 0.75),
        (GENERATORS | {"preference": 1.75}, Outcome.B, 0.25),
        (GENERATORS | {"preference": 1}, Outcome.A, None),
        (GENERATORS | {"preference": 2.0}, Outcome.B, None),
        (GENERATORS | {"preference": 1.5}, Outcome.TIE, None),
        (GENERATORS | {"preference": 0}, Outcome.TIE, None),
        (GENERATORS | {"preference": None}, Outcome.UNPARSED, None),
        (ROW | {"preference": 1.25, "winner": "model_a"}, Outcome.A, 0.75),
        (ROW | {"preference": 1.25, "scores": [3, 9]}, Outcome.A, 0.75),
        (ROW | {"preference": 1.25, "order_ab": ["bo", "ada"]}, Outcome.B, 0.25),
        (ROW | {"scores": [0.75, 0.25]}, Outcome.A, 0.75),
        (ROW | {"scores": [0.3333333, 0.6666667]}, Outcome.B, 0.3333333),
        (ROW | {"scores": [1, 0]}, Outcome.A, None),
        (ROW | {"scores": [0.5, 0.5]}, Outcome.TIE, None),
        (ROW | {"scores": [0.75, 0.25], "winner": "tie"}, Outcome.TIE, None),
        (ROW | {"scores": [2, -1]}, Outcome.A, None),
        (ROW | {"scores": [8, 4]}, Outcome.A, None),
        (ROW | {"winner": "model_b"}, Outcome.B, None),
    ],
)
def test_preference_is_read_with_its_outcome(row: dict[str, object], outcome: Outcome, share: float | None) -> None:
    if row.get("order_ab"):
        assert read(row).model_a == "bo"
    assert (read(row).outcome(0.5), read(row).preference) == (outcome, share)


def test_alpaca_eval_row_is_read_with_lengths_and_unknown_order() -> None:
    judgment = read(GENERATORS | {"preference": 1.9, "annotator": "gpt", "output_1": "four", "output_2": "two"})

    assert (judgment.model_a, judgment.model_b, judgment.prompt, judgment.annotator) == ("ada", "bo", "Why?", "gpt")
    assert (judgment.lengths, judgment.order_known) == ((4.0, 3.0), False)


@each_case(
    ("row", "reason"),
    [
        ({"preference": 2.5}, "has preference 2.5, which must be from 1 (the first is better) to 2 (the second is)"),
        ({"preference": 0.7}, "has preference 0.7, which must be from 1 (the first is better) to 2 (the second is)"),
        ({"preference": "A"}, "has preference 'A', which must be from 1 (the first is better) to 2 (the second is)"),
        ({"preference": 1.2, "winner": "model_b"}, "has preference 1.2, which contradicts its winner 'model_b'"),
        ({"preference": 1.2, "winner": "error"}, "has preference 1.2, which contradicts its winner 'error'"),
    ],
)
def test_invalid_preference_is_refused_with_reason(row: dict[str, object], reason: str) -> None:
    (problem,) = read_judgments(json.dumps(ROW | row), "x").problems

    assert problem.reason == reason


def test_votes_refuse_a_preference_beyond_one() -> None:
    votes = make_random_votes(3)
    with pytest.raises(ValueError, match="vote 2 has a preference that is not from 0 to 1"):
        replace(votes, preference=np.array([np.nan, 1.5, 0.5]))


def test_ratings_of_soft_votes_match_statsmodels() -> None:
    votes = soft_votes()
    reference = sm.GLM(votes.score, design(votes), family=sm.families.Binomial()).fit(tol=1e-13)
    fitted = fit(pair_counts(votes))

    assert relative_to_last(fitted.theta) == pytest.approx(reference.params, abs=1e-6)
    errors = jackknife_errors(design(votes), votes.score, reference.fittedvalues, votes.prompt)
    assert strength_errors(votes, fitted).difference[:-1, -1] == pytest.approx(errors, rel=1e-5)
    controlled = controlled_ratings(votes, ["position"])
    assert controlled.theta == pytest.approx(fitted.theta, abs=0.1)


def test_single_soft_votes_are_one_cluster_each() -> None:
    shares = np.array([0.9, 0.2, 0.7, 0.6, 0.3])
    zeros = np.zeros(5, np.int64)
    votes = votes_from_arrays(("ada", "bo"), zeros, zeros + 1, np.array([0, 1, 0, 0, 1]))
    votes = replace(votes, preference=shares)
    errors = strength_errors(votes, fit(pair_counts(votes)), "vote")

    # CR3 of the log odds of a mean m: the residuals over the information of the other votes, m (1 - m) (n - 1).
    mean = shares.mean()
    variance = 4 / 5 * ((shares - mean) ** 2).sum() / (4 * mean * (1 - mean)) ** 2
    assert errors.difference[0, 1] == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert errors.freedom == 4


def test_online_elo_moves_by_the_share() -> None:
    one = np.zeros(1, np.int64)
    votes = replace(votes_from_arrays(("ada", "bo"), one, one + 1, one), preference=np.array([0.75]))

    assert single_pass(votes, Elo(k=32, shuffle=None)).tolist() == [1008, 992]


def swapped_games(shares: list[float]) -> Votes:
    """Return two games on one prompt by one judge: ada first, then bo first; shares for the first."""
    zeros, first = np.zeros(2, np.int64), np.array([0, 1])
    outcome = (np.array(shares) < 0.5).astype(np.int64)
    votes = votes_from_arrays(("ada", "bo"), first, 1 - first, outcome, zeros, zeros, zeros + 1)
    return replace(votes, preference=np.array(shares))


@each_case(("policy", "shares"), [("as-is", [0.9, 0.3]), ("half", [0.9, 0.3]), ("tie", [0.8]), ("consistent", [0.8])])
def test_swapped_soft_games_are_merged_by_their_mean(policy: str, shares: list[float]) -> None:
    # Ada is first with 0.9, then bo is first with 0.3: ada has 0.9 and 0.7.
    merged = apply_swap_policy(swapped_games([0.9, 0.3]), policy)

    assert merged.preference == pytest.approx(shares)
    assert pair_counts(merged).scores[0, 1] / pair_counts(merged).games[0, 1] == pytest.approx(0.8)


def test_swapped_soft_games_that_differ_are_a_tie() -> None:
    votes = swapped_games([0.9, 0.6])

    merged = apply_swap_policy(votes, "tie")
    assert (merged.outcome.tolist(), merged.is_soft.any()) == ([Outcome.TIE], False)
    assert len(apply_swap_policy(votes, "consistent")) == 0
    assert votes.preference.tolist() == [0.9, 0.6]


def test_davidson_counts_soft_preferences_as_part_wins() -> None:
    rows = [ROW | {"prompt_id": k, "preference": p} for k, p in enumerate([1.25, 1.75, 1.5])]
    counts = pair_counts(votes_by_criterion(read_judgments(json.dumps(rows), "x").judgments, ""))

    assert (counts.wins[0, 1], counts.wins[1, 0], counts.ties[0, 1]) == (1.0, 1.0, 1.0)
    assert fit(counts, "davidson").nu == pytest.approx(1.0)
