"""Scores completions so that a failure is never a number: retried once, then raised with the example's name."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import MutableMapping, Sequence
from numbers import Real
from typing import Protocol, TypeAlias, runtime_checkable

from workers.tasks.base import Example, Failure, Score, Task

LOG = logging.getLogger(__name__)
Asked = Sequence[tuple[Example, str]]
"""Examples with the completions to be scored."""
Known: TypeAlias = MutableMapping[tuple[str, str, str], Score]
"""Scores by the example's id and target and the completion."""


@runtime_checkable
class Batched(Protocol):
    """A task that scores many completions in one go, because asking has a price of its own."""

    def score_until_failure(self, asked: Asked) -> tuple[list[Score], Failure | None]:
        """Scores in order, and stops at the first that fails: (the scores before it, its failure or None)."""


class RewardFailed(RuntimeError):
    """A reward could not be computed. `example_id` and `prompt` say which, `details` holds the last traceback."""

    def __init__(self, example: Example, failure: Failure) -> None:
        super().__init__(f"the reward of prompt {example.id} failed twice: {failure.reason}\n{failure.details}")
        self.example_id = example.id
        self.prompt = example.messages[-1]["content"]
        self.reason = failure.reason
        self.details = failure.details


def score_safely(task: Task, asked: Asked, known: Known | None = None) -> list[Score]:
    """Return a score for each, in order; equal completions of one example are scored once.

    `known` holds the scores of earlier calls and takes those of this one. A score that fails is retried once; then
    RewardFailed is raised. A reward that is no finite number is a failure as well.
    """
    known = {} if known is None else known
    keys = [(example.id, example.target, completion) for example, completion in asked]
    new = {key: pair for key, pair in zip(keys, asked, strict=True) if key not in known}
    known.update(zip(new, _score_each(task, list(new.values())), strict=True))
    return [known[key] for key in keys]


def _score_each(task: Task, asked: Asked) -> list[Score]:
    done: list[Score] = []
    failed_at = -1
    while len(done) < len(asked):
        scores, failure = _until_failure(task, asked[len(done) :])
        done += scores
        if failure is None:
            break
        example, _ = asked[len(done)]
        if failed_at == len(done):
            raise RewardFailed(example, failure)
        LOG.warning("the reward of prompt %s failed (%s) and is tried once more", example.id, failure.reason)
        failed_at = len(done)
    return done


def _until_failure(task: Task, asked: Asked) -> tuple[list[Score], Failure | None]:
    if isinstance(task, Batched):
        return task.score_until_failure(asked)
    scores: list[Score] = []
    for example, completion in asked:
        try:
            scores.append(_checked(task.score(example, completion)))
        except Exception as error:
            return scores, Failure(f"{type(error).__name__}: {error}", traceback.format_exc())
    return scores, None


def _checked(score: Score) -> Score:
    """The score in plain floats. Raises TypeError or ValueError where a number is none, or not finite."""
    if not isinstance(score, Score):
        raise TypeError(f"a task returns a Score, not {score!r}"[:200])
    parts = {name: finite(f"part {name}", value) for name, value in score.parts.items()}
    return Score(finite("reward", score.reward), parts)


def finite(name: str, value: object) -> float:
    """The number as a float. Raises TypeError where it is none, ValueError where it is not finite."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"the {name} must be a number, not {value!r}"[:200])
    if not math.isfinite(value):
        raise ValueError(f"the {name} must be finite, not {value!r}")
    return float(value)
