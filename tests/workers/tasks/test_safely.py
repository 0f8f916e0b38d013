"""A failed reward is never a number: it is tried once more, then raised with the prompt's name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest

from workers.tasks import Example, RewardFailed, Score, score_safely

EXAMPLE = Example("e1", ({"role": "user", "content": "What?"},), "That")


class Scripted:
    """A task that does one thing at each call, in turn."""

    name = "scripted"

    def __init__(self, *steps: Callable[[], Any]) -> None:
        self.steps = list(steps)

    def examples(self, split: str) -> Sequence[Example]:
        return [EXAMPLE]

    def score(self, example: Example, completion: str) -> Any:
        return self.steps.pop(0)()


def crash() -> Score:
    raise TimeoutError("the scorer is away")


def test_a_score_passes_unchanged() -> None:
    task = Scripted(lambda: Score(-3.0, {"exact": 0.0}))
    assert score_safely(task, EXAMPLE, "x") == Score(-3.0, {"exact": 0.0})


def test_numbers_of_other_kinds_become_floats() -> None:
    score = score_safely(Scripted(lambda: Score(numpy.float32(0.5), {"n": 3})), EXAMPLE, "x")
    assert (type(score.reward), type(score.parts["n"])) == (float, float)


def test_one_failure_is_retried_and_said(caplog: pytest.LogCaptureFixture) -> None:
    assert score_safely(Scripted(crash, lambda: Score(1.0)), EXAMPLE, "x").reward == 1.0
    assert "prompt e1 failed (TimeoutError: the scorer is away)" in caplog.text


def test_a_second_failure_names_the_prompt_and_carries_the_traceback() -> None:
    task = Scripted(crash, crash, crash)
    with pytest.raises(RewardFailed, match="prompt e1 failed twice: TimeoutError") as failed:
        score_safely(task, EXAMPLE, "x")
    assert failed.value.example_id == "e1"
    assert "in crash" in failed.value.details
    assert len(task.steps) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, numpy.float64("nan"), None, "0.5", True, [1.0]])
def test_what_is_no_finite_number_is_a_failure(value: Any) -> None:
    with pytest.raises(RewardFailed, match="the reward must be"):
        score_safely(Scripted(*[lambda: Score(value)] * 2), EXAMPLE, "x")
    with pytest.raises(RewardFailed, match="the part exact must be"):
        score_safely(Scripted(*[lambda: Score(0.0, {"exact": value})] * 2), EXAMPLE, "x")


def test_a_bare_number_is_no_score() -> None:
    with pytest.raises(RewardFailed, match=r"a task returns a Score, not 0\.0"):
        score_safely(Scripted(*[lambda: 0.0] * 2), EXAMPLE, "x")


def test_being_told_to_stop_is_no_failed_reward() -> None:
    def interrupted() -> Score:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_safely(Scripted(interrupted), EXAMPLE, "x")
