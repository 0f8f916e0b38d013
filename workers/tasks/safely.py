"""Scores completions so that a failure is never a number: retried once, then raised with the example's name."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Iterator, MutableMapping, Sequence
from numbers import Real
from typing import Protocol, TypeAlias, runtime_checkable

from workers.tasks.base import Example, Failure, Score, Task

LOG = logging.getLogger(__name__)
Asked = Sequence[tuple[Example, str]]
"""Examples with the completions to be scored."""
ScoreKey: TypeAlias = tuple[str, str, str]
"""The example's id and target, and the completion."""
Known: TypeAlias = MutableMapping[ScoreKey, Score]


@runtime_checkable
class Batched(Protocol):
    """A task that scores many completions in one go, because asking has a price of its own."""

    def score_until_failure(self, asked: Asked) -> tuple[list[Score], Failure | None]:
        """Scores in order, and stops at the first that fails: (the scores before it, its failure or None)."""


class RewardFailed(RuntimeError):
    """A reward could not be computed. `key`, `example_id` and `prompt` say which, `details` has the last traceback."""

    def __init__(self, example: Example, completion: str, failure: Failure) -> None:
        super().__init__(f"the reward of prompt {example.id} failed twice: {failure.reason}\n{failure.details}")
        self.key = score_key(example, completion)
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
    for failure in score_new(task, asked, known):
        raise failure
    return [known[score_key(example, completion)] for example, completion in asked]


def score_new(task: Task, asked: Asked, known: Known) -> Iterator[RewardFailed]:
    """Score what `known` lacks and add it there. Yield an error for each pair that failed twice, and then go on."""
    keyed = {score_key(example, completion): (example, completion) for example, completion in asked}
    left = [(key, pair) for key, pair in keyed.items() if key not in known]
    retried: ScoreKey | None = None
    while left:
        scores, failure = _until_failure(task, [pair for _, pair in left])
        done, left = left[: len(scores)], left[len(scores) :]
        known.update(zip((key for key, _ in done), scores, strict=True))
        if failure is None:
            break
        key, (example, completion) = left[0]
        if key == retried:
            left = left[1:]
            yield RewardFailed(example, completion, failure)
        else:
            LOG.warning("the reward of prompt %s failed (%s) and is tried once more", example.id, failure.reason)
            retried = key
    if left:
        raise ValueError(f"the task {task.name} returned {len(left)} scores too few")


def score_key(example: Example, completion: str) -> ScoreKey:
    """Return the key of a pair in `Known`: two examples of equal id may have different targets."""
    return example.id, example.target, completion


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
