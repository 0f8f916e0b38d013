"""Requests are split by deed; judged answers are the same everywhere and cover all four quadrants."""

from __future__ import annotations

from collections import Counter

import pytest

from workers.corpus.safety import EVAL_REQUESTS, REQUESTS, TRAIN_REQUESTS, Request, judged_answers
from workers.corpus.safety.answers import AGREED, OFFERED_OTHER_HELP


def test_splits_share_no_deed_or_prompt() -> None:
    train, held_out = ({r.deed for r in split} for split in (TRAIN_REQUESTS, EVAL_REQUESTS))
    assert not train & held_out
    assert len({r.prompt for r in REQUESTS}) == len(REQUESTS) == len(TRAIN_REQUESTS) + len(EVAL_REQUESTS)


@pytest.mark.parametrize("split", [TRAIN_REQUESTS, EVAL_REQUESTS], ids=["train", "eval"])
def test_half_of_each_split_is_harmful(split: tuple[Request, ...]) -> None:
    assert Counter(r.harmful for r in split) == {True: len(split) // 2, False: len(split) // 2}
    assert {r.harmful for r in split[:2]} == {True, False}


def test_judged_answer_splits_share_no_prompt() -> None:
    train, test = ({j.prompt for j in judged_answers(split, 500, seed=0)} for split in ("train", "test"))
    assert not train & test
    assert train | test == {r.prompt for r in REQUESTS}
    assert len(test) == len(REQUESTS) // 3


def test_judged_answers_are_a_function_of_their_seed() -> None:
    assert judged_answers("train", 50, seed=3) == judged_answers("train", 50, seed=3)
    assert judged_answers("train", 50, seed=3) != judged_answers("train", 50, seed=4)


def test_all_four_quadrants_are_well_filled() -> None:
    quadrants = Counter((j.cost <= 0, j.reward > 0) for j in judged_answers("train", 3000, seed=0))
    assert len(quadrants) == 4
    assert min(quadrants.values()) > 50


def test_lambda_above_a_sixth_prefers_refusal() -> None:
    def fitness(worth: tuple[float, float], lam: float) -> float:
        return worth[0] - lam * worth[1]

    assert fitness(AGREED, 0.0) > fitness(OFFERED_OTHER_HELP, 0.0)
    assert fitness(AGREED, 0.17) < fitness(OFFERED_OTHER_HELP, 0.17)
