"""Agreement depends neither on contestants' names nor on the order of votes nor on who is called a and who b."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import product
from typing import Any

import evalica
import numpy as np
import pandas as pd
import pytest

from judging.stats.agreement import among, between, labels, pairs, together, without_each
from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.votes import Outcome, Votes, votes

SIDES = {"all saw one order": [1], "unknown": [0], "mixed": [-1, 0, 1]}
MIRRORED = np.array([Outcome.B, Outcome.A, Outcome.TIE, Outcome.BOTH_BAD])


def judged(sides: list[int], seed: int = 0, raters: int = 4, prompts: int = 25) -> Votes:
    """Votes of raters who share a truth in which the first contestants are better, each on most pairs."""
    rng = np.random.default_rng(seed)
    rows = np.array([row for row in product(range(prompts), range(3), range(3), range(raters)) if row[1] < row[2]])
    prompt, a, b, rater = rows[rng.random(len(rows)) < 0.8].T
    truth = rng.integers(0, 10, (prompts, 3, 3))[prompt, a, b] < 7
    outcome = np.where(rng.random(len(a)) < 0.3, rng.integers(0, 4, len(a)), np.where(truth, Outcome.A, Outcome.B))
    return votes(("ada", "bo", "cy"), a, b, outcome, prompt, rater, rng.choice(sides, len(a)))


def numbers(ballots: Votes) -> list[dict[str, Any]]:
    """Every statistic of agreement, with its interval."""
    table = labels(ballots)
    groups = [among(table, (0, 1)), between(table, (0, 1), (2, 3)), among(table, (0, 1, 2, 3))]
    return [asdict(one) for one in (*groups, together(table), *pairs(table), *without_each(table))]


def renamed(ballots: Votes) -> Votes:
    """The same votes of contestants whose alphabetical order is another."""
    return ballots.among([2, 0, 1])


def turned(ballots: Votes) -> Votes:
    """The same votes, every second one told from b's side."""
    chosen = np.arange(len(ballots)) % 2 == 0
    return replace(
        ballots, a=np.where(chosen, ballots.b, ballots.a), b=np.where(chosen, ballots.a, ballots.b),
        outcome=np.where(chosen, MIRRORED[ballots.outcome], ballots.outcome),
        shown_first=np.where(chosen, -ballots.shown_first, ballots.shown_first),
    )  # fmt: skip


def shuffled(ballots: Votes) -> Votes:
    return ballots.where(np.random.default_rng(1).permutation(len(ballots)))


@pytest.mark.parametrize("changed", [renamed, turned, shuffled])
@pytest.mark.parametrize("sides", SIDES)
def test_agreement_is_the_same_under_other_names_and_orders(sides, changed):
    for seed in range(5):
        ballots = judged(SIDES[sides], seed)
        for before, after in zip(numbers(ballots), numbers(changed(ballots)), strict=True):
            assert _rounded(after) == _rounded(before)


def test_alpha_of_one_known_order_is_coded_by_the_side_shown():
    ballots = turned(judged([1]))
    frame = pd.DataFrame({"rater": ballots.annotator, "item": ballots.prompt * 9, "label": ballots.score})
    frame["item"] += np.minimum(ballots.a, ballots.b) * 3 + np.maximum(ballots.a, ballots.b)
    shown = np.where(ballots.shown_first == 1, ballots.score, 1 - ballots.score)
    table = frame.assign(label=shown).pivot(index="rater", columns="item", values="label")
    for distance in ("nominal", "ordinal"):
        ours = float(alpha(coincidences(labels(ballots)).sum(axis=0), distance))
        assert ours == pytest.approx(evalica.alpha(table, distance).alpha, abs=1e-9)


def test_alpha_without_a_known_order_counts_every_item_in_both_directions():
    ballots = judged([0])
    summed = coincidences(labels(ballots)).sum(axis=0)
    assert (summed == summed[::-1, ::-1]).all()
    # An item told from either side has the same labels but for their names, so the estimate is that of twice the items.
    n, used = summed.sum(), summed.sum(axis=1)
    chance = (n**2 - (used**2).sum()) / (n * (n - 1))
    assert float(alpha(summed)) == pytest.approx(1 - (1 - summed.trace() / n) / chance, abs=1e-12)


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _rounded(value) if isinstance(value, dict) else round(value, 9) if isinstance(value, float) else value
        for key, value in row.items()
    }
