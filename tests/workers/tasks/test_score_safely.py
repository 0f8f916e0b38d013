"""A failed reward is never a number: it is retried once, then raised with the prompt's name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest

from tests.cases import each_case
from workers.tasks import Example, RewardFailed, Score, ScoreCache, score_key, score_new, score_safely

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


def scored(task: Scripted) -> Score:
    """Return the score of one completion."""
    (score,) = score_safely(task, [(EXAMPLE, "x")])
    return score


def crash() -> Score:
    raise TimeoutError("the scorer is away")


def test_a_score_passes_unchanged() -> None:
    task = Scripted(lambda: Score(-3.0, {"exact": 0.0}))
    assert scored(task) == Score(-3.0, {"exact": 0.0})


def test_numbers_of_other_kinds_become_floats() -> None:
    score = scored(Scripted(lambda: Score(numpy.float32(0.5), {"n": 3})))
    assert (type(score.reward), type(score.parts["n"])) == (float, float)


def test_single_failure_is_retried_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert scored(Scripted(crash, lambda: Score(1.0))).reward == 1.0
    assert "prompt e1 failed (TimeoutError: the scorer is away)" in caplog.text


def test_a_second_failure_names_the_prompt_and_carries_the_traceback() -> None:
    task = Scripted(crash, crash, crash)
    with pytest.raises(RewardFailed, match="prompt e1 failed twice: TimeoutError") as failed:
        scored(task)
    assert failed.value.example_id == "e1"
    assert "in crash" in failed.value.details
    assert len(task.steps) == 1


@each_case("value", [math.nan, math.inf, -math.inf, numpy.float64("nan"), None, "0.5", True, [1.0]])
def test_reward_that_is_not_finite_is_a_failure(value: Any) -> None:
    with pytest.raises(RewardFailed, match="the reward must be"):
        scored(Scripted(*[lambda: Score(value)] * 2))
    with pytest.raises(RewardFailed, match="the part exact must be"):
        scored(Scripted(*[lambda: Score(0.0, {"exact": value})] * 2))


def test_a_bare_number_is_no_score() -> None:
    with pytest.raises(RewardFailed, match=r"a task must return a Score, not 0\.0"):
        scored(Scripted(*[lambda: 0.0] * 2))


def test_interruption_is_no_failed_reward() -> None:
    def interrupted() -> Score:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scored(Scripted(interrupted))


def test_pairs_are_scored_in_order_with_one_retry_each() -> None:
    steps = [lambda: Score(1.0), crash, lambda: Score(2.0), crash, lambda: Score(3.0)]
    assert [s.reward for s in score_safely(Scripted(*steps), [(EXAMPLE, text) for text in "xyz"])] == [1.0, 2.0, 3.0]


def test_scoring_stops_after_second_failure() -> None:
    task = Scripted(lambda: Score(1.0), crash, crash, lambda: Score(2.0))
    with pytest.raises(RewardFailed) as failed:
        score_safely(task, [(EXAMPLE, text) for text in "xyz"])
    assert failed.value.prompt == "What?"
    assert len(task.steps) == 1


def test_equal_completions_of_an_example_are_scored_once() -> None:
    other = replace(EXAMPLE, target="another")
    task = Scripted(*(lambda reward=reward: Score(reward) for reward in (1.0, 2.0, 3.0, 4.0)))  # type: ignore[misc]
    cache: ScoreCache = {}
    pairs = [(EXAMPLE, "x"), (EXAMPLE, "y"), (EXAMPLE, "x"), (other, "x")]
    assert [s.reward for s in score_safely(task, pairs, cache)] == [1.0, 2.0, 1.0, 3.0]
    assert [s.reward for s in score_safely(task, [(EXAMPLE, "z"), *pairs], cache)] == [4.0, 1.0, 2.0, 1.0, 3.0]


def test_failed_score_is_not_cached() -> None:
    cache: ScoreCache = {}
    task = Scripted(lambda: Score(1.0), crash, crash, lambda: Score(2.0))
    with pytest.raises(RewardFailed):
        score_safely(task, [(EXAMPLE, "x"), (EXAMPLE, "y")], cache)
    assert cache == {score_key(EXAMPLE, "x"): Score(1.0)}
    assert [s.reward for s in score_safely(task, [(EXAMPLE, "y")], cache)] == [2.0]


def test_failures_are_reported_and_other_pairs_scored() -> None:
    cache: ScoreCache = {}
    task = Scripted(lambda: Score(1.0), crash, crash, crash, lambda: Score(2.0), crash, crash)
    failures = list(score_new(task, [(EXAMPLE, text) for text in "wxyz"], cache))
    assert [failure.key for failure in failures] == [score_key(EXAMPLE, "x"), score_key(EXAMPLE, "z")]
    assert cache == {score_key(EXAMPLE, "w"): Score(1.0), score_key(EXAMPLE, "y"): Score(2.0)}


def test_no_pairs_have_no_scores() -> None:
    assert score_safely(Scripted(), []) == []
