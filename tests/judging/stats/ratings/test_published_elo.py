"""The published table of online Elo is reproduced from the published judgments, with ratings that need no order."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from judging.stats.ratings import (
    Elo,
    RatingOptions,
    compute_board,
    controlled_ratings,
    ratings_over_orders,
    single_pass,
)
from tests.judging.published_votes import judgments_path, needs_data, published_elo, published_votes

pytestmark = needs_data
ANCHOR = "Alpaca-7B"


def by_hand(criterion: str) -> dict[str, float]:
    """Return the ratings of the same pass, computed directly from the file's rows."""
    rows = [json.loads(line) for line in judgments_path().read_text().splitlines()]
    rows = [row for row in rows if row["dimension"] == criterion]
    random.Random(123).shuffle(rows)
    rating = {row["model_a"]: 1000.0 for row in rows} | {row["model_b"]: 1000.0 for row in rows}
    for row in rows:
        first, second = row["model_a"], row["model_b"]
        apart = 0.0 if row["scores"] is None else row["scores"][0] - row["scores"][1]
        got = 0.5 if abs(apart) <= 0.5 else float(apart > 0)
        move = 32 * (got - 1 / (1 + 10 ** ((rating[second] - rating[first]) / 400)))
        rating[first], rating[second] = rating[first] + move, rating[second] - move
    return {name: value + 1000 - rating[ANCHOR] for name, value in rating.items()}


def single(criterion: str) -> dict[str, float]:
    votes = published_votes(criterion)
    return dict(zip(votes.contestants, single_pass(votes, Elo(), votes.contestants.index(ANCHOR)), strict=True))


def test_online_elo_reproduces_published_ratings():
    assert single("helpfulness") == pytest.approx(published_elo(), abs=1e-9)


@pytest.mark.parametrize("criterion", ["helpfulness", "harmlessness"])
def test_online_elo_matches_computation_by_hand(criterion):
    assert single(criterion) == pytest.approx(by_hand(criterion), abs=1e-9)


@pytest.mark.parametrize(
    ("criterion", "same_leader", "mean"), [("helpfulness", 0.57, 1526), ("harmlessness", 0.82, 1552)]
)
def test_elo_spread_over_orders_is_large(criterion, same_leader, mean):
    votes = published_votes(criterion)
    orders = ratings_over_orders(votes, Elo(), 1000, anchor=votes.contestants.index(ANCHOR))
    assert orders.kept == pytest.approx(same_leader, abs=0.05)
    assert orders.mean[votes.contestants.index("ES-500")] == pytest.approx(mean, abs=8)
    others = [k for k, name in enumerate(votes.contestants) if name != ANCHOR]
    assert (orders.sd[others] > 55).all()
    assert (orders.sd[others] < 66).all()
    assert (orders.spread[others] > 330).all()


@pytest.mark.parametrize(
    ("criterion", "anchored", "ahead", "v2_above_v1"),
    [
        ("helpfulness", (1517, 1377, 1709), (103, 25, 190), 0.67),
        ("harmlessness", (1540, 1406, 1743), (124, 36, 231), 0.95),
    ],
)
def test_bradley_terry_reproduces_reference_ratings(criterion, anchored, ahead, v2_above_v1):
    votes = published_votes(criterion)
    result = compute_board(votes, RatingOptions(anchor=ANCHOR))
    best = result.standings[0]
    assert best.contestant == "ES-500"
    assert best.anchored.value == pytest.approx(anchored[0], abs=1)
    # The reference's percentiles are as wide as these intervals, but not symmetric.
    assert best.anchored.high - best.anchored.low == pytest.approx(anchored[2] - anchored[1], abs=12)
    assert best.anchored.high + best.anchored.low == pytest.approx(2 * best.anchored.value)
    assert (best.ahead.of, best.ahead.by.value) == ("Beaver-V3", pytest.approx(ahead[0], abs=1))
    assert (best.ahead.by.low, best.ahead.by.high) == pytest.approx(ahead[1:], abs=16)
    (group,) = result.groups
    v1, v2 = (votes.contestants.index(name) for name in ("Beaver-V1", "Beaver-V2"))
    assert np.mean(group.draws.theta[:, v2] > group.draws.theta[:, v1]) == pytest.approx(v2_above_v1, abs=0.03)


def test_anchor_widens_other_intervals():
    best = compute_board(published_votes("helpfulness"), RatingOptions(anchor=ANCHOR)).standings[0]
    centred, anchored = best.rating.high - best.rating.low, best.anchored.high - best.anchored.low
    assert centred == pytest.approx(159, abs=10)
    assert anchored == pytest.approx(335, abs=15)


@pytest.mark.parametrize(("criterion", "elo", "error"), [("helpfulness", 41, 20), ("harmlessness", 33, 19)])
def test_published_judge_has_position_effect(criterion, elo, error):
    effect = controlled_ratings(published_votes(criterion), ["position"]).effects["position"]
    assert (effect.value * 173.72, effect.error * 173.72) == pytest.approx((elo, error), abs=1)


def test_unparsed_judgments_are_not_ties():
    result = compute_board(published_votes("helpfulness"))
    assert (result.tally.votes, result.tally.counted, result.tally.missing["unparsed"]) == (500, 495, 5)
    assert "5 of 500 judgments failed; they count for nobody." in result.sentences
