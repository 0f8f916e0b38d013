"""Agreement is independent of contestants' names, of the order of votes, and of who is a and who is b."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import product
from typing import Any

import evalica
import numpy as np
import pandas as pd
import pytest

from judging.stats.agreement import (
    agreement_between,
    agreement_within,
    build_labels,
    compare_all_raters,
    overall_agreement,
    rater_contributions,
)
from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.votes import Outcome, Votes, votes_from_arrays

SIDES = {"all saw one order": [1], "unknown": [0], "mixed": [-1, 0, 1]}
MIRRORED = np.array([Outcome.B, Outcome.A, Outcome.TIE, Outcome.BOTH_BAD])


def make_votes(sides: list[int], seed: int = 0, raters: int = 4, prompts: int = 25) -> Votes:
    """Return votes of raters who share a truth (the first contestants are better), each on most pairs."""
    rng = np.random.default_rng(seed)
    rows = np.array([row for row in product(range(prompts), range(3), range(3), range(raters)) if row[1] < row[2]])
    prompt, a, b, rater = rows[rng.random(len(rows)) < 0.8].T
    truth = rng.integers(0, 10, (prompts, 3, 3))[prompt, a, b] < 7
    outcome = np.where(rng.random(len(a)) < 0.3, rng.integers(0, 4, len(a)), np.where(truth, Outcome.A, Outcome.B))
    return votes_from_arrays(("ada", "bo", "cy"), a, b, outcome, prompt, rater, rng.choice(sides, len(a)))


def numbers(ballots: Votes) -> list[dict[str, Any]]:
    """Return every statistic of agreement with its interval."""
    table = build_labels(ballots)
    groups = [
        agreement_within(table, (0, 1)),
        agreement_between(table, (0, 1), (2, 3)),
        agreement_within(table, (0, 1, 2, 3)),
    ]
    return [
        asdict(group)
        for group in (*groups, overall_agreement(table), *compare_all_raters(table), *rater_contributions(table))
    ]


def renamed(ballots: Votes) -> Votes:
    """Return the same votes with contestants in another alphabetical order."""
    return ballots.between_contestants([2, 0, 1])


def turned(ballots: Votes) -> Votes:
    """Return the same votes, every second one from b's side."""
    is_even = np.arange(len(ballots)) % 2 == 0
    return replace(
        ballots, a=np.where(is_even, ballots.b, ballots.a), b=np.where(is_even, ballots.a, ballots.b),
        outcome=np.where(is_even, MIRRORED[ballots.outcome], ballots.outcome),
        shown_first=np.where(is_even, -ballots.shown_first, ballots.shown_first),
    )  # fmt: skip


def shuffled(ballots: Votes) -> Votes:
    return ballots.select(np.random.default_rng(1).permutation(len(ballots)))


@pytest.mark.parametrize("seeds", [1, pytest.param(5, marks=pytest.mark.soak)])
@pytest.mark.parametrize("sides", SIDES)
def test_agreement_ignores_names_and_order(sides, seeds):
    for seed in range(seeds):
        ballots = make_votes(SIDES[sides], seed)
        expected = [_rounded(row) for row in numbers(ballots)]
        for change in (renamed, turned, shuffled):
            assert [_rounded(row) for row in numbers(change(ballots))] == expected, change


def test_alpha_with_known_order_is_coded_by_side():
    ballots = turned(make_votes([1]))
    frame = pd.DataFrame({"rater": ballots.annotator, "item": ballots.prompt * 9, "label": ballots.score})
    frame["item"] += np.minimum(ballots.a, ballots.b) * 3 + np.maximum(ballots.a, ballots.b)
    score = np.where(ballots.shown_first == 1, ballots.score, 1 - ballots.score)
    table = frame.assign(label=score).pivot(index="rater", columns="item", values="label")
    for distance in ("nominal", "ordinal"):
        ours = float(alpha(coincidences(build_labels(ballots)).sum(axis=0), distance))
        assert ours == pytest.approx(evalica.alpha(table, distance).alpha, abs=1e-9)


def test_alpha_without_known_order_counts_items_in_both_directions():
    ballots = make_votes([0])
    summed = coincidences(build_labels(ballots)).sum(axis=0)
    assert (summed == summed[::-1, ::-1]).all()
    # Seen from either side an item has mirrored labels, so the estimate is that of twice the items.
    n, used = summed.sum(), summed.sum(axis=1)
    chance = (n**2 - (used**2).sum()) / (n * (n - 1))
    assert float(alpha(summed)) == pytest.approx(1 - (1 - summed.trace() / n) / chance, abs=1e-12)


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _rounded(value) if isinstance(value, dict) else round(value, 9) if isinstance(value, float) else value
        for key, value in row.items()
    }
