"""Scores a completion so that a failure is never a number: retried once, then raised with the example's name."""

from __future__ import annotations

import logging
import math
import traceback
from numbers import Real

from workers.tasks.base import Example, Score, Task

LOG = logging.getLogger(__name__)


class RewardFailed(RuntimeError):
    """A reward could not be computed. `example_id` names the prompt, `details` holds the last traceback."""

    def __init__(self, example_id: str, reason: str, details: str) -> None:
        super().__init__(f"the reward of prompt {example_id} failed twice: {reason}\n{details}")
        self.example_id = example_id
        self.reason = reason
        self.details = details


def score_safely(task: Task, example: Example, completion: str) -> Score:
    """The task's score, retried once. Raises RewardFailed; a reward that is no finite number is a failure as well."""
    try:
        return _checked(task.score(example, completion))
    except Exception as error:
        LOG.warning("the reward of prompt %s failed (%s) and is tried once more", example.id, _reason(error))
    try:
        return _checked(task.score(example, completion))
    except Exception as error:
        raise RewardFailed(example.id, _reason(error), traceback.format_exc()) from error


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _checked(score: Score) -> Score:
    """The score in plain floats. Raises TypeError or ValueError where a number is none, or not finite."""
    if not isinstance(score, Score):
        raise TypeError(f"a task returns a Score, not {score!r}"[:200])
    parts = {name: _finite(f"part {name}", value) for name, value in score.parts.items()}
    return Score(_finite("reward", score.reward), parts)


def _finite(name: str, value: object) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"the {name} must be a number, not {value!r}"[:200])
    if not math.isfinite(value):
        raise ValueError(f"the {name} must be finite, not {value!r}")
    return float(value)
