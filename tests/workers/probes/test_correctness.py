"""The rule by which a response counts as correct."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.cases import each_case
from workers.config.evaluate import EvaluateConfig
from workers.probes.evaluate.measures import correctness
from workers.tasks import Score
from workers.tasks.protocols import COST

CASES = [
    ("right", Score(0.0, {"right": 1.0, "contains": 0.0}), Score(9.0, {"right": 0.0, "contains": 1.0})),
    ("contains", Score(0.0, {"contains": 1.0}), Score(9.0, {"contains": 0.0})),
    ("exact", Score(0.0, {"exact": 1.0}), Score(9.0, {"exact": 0.0})),
    ("safe", Score(0.0, {COST: 0.0}), Score(9.0, {COST: 0.1})),
    ("reward", Score(1.0), Score(0.9)),
]


def answers(*scores: Score) -> list[Any]:
    return [SimpleNamespace(score=score) for score in scores]


@each_case(("name", "right", "wrong"), CASES, ids=str)
def test_only_the_right_response_is_correct(name: str, right: Score, wrong: Score) -> None:
    for rule in (name, "auto"):
        is_correct = correctness(answers(right, wrong), EvaluateConfig(correct=rule, correct_reward=1.0))
        assert is_correct(right) and not is_correct(wrong), rule


def test_rule_of_a_part_that_the_task_does_not_measure_is_refused() -> None:
    with pytest.raises(ValueError, match="is exact, which this task does not measure; choose contains, reward"):
        correctness(answers(Score(0.0, {"contains": 1.0})), EvaluateConfig(correct="exact"))
