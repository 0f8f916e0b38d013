"""Score completions so that a failure is never a number: retry once, then raise with the example's name."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Iterator, MutableMapping, Sequence
from numbers import Real
from typing import Protocol, TypeAlias, runtime_checkable

from workers.tasks.base import Example, Failure, Score, Task

LOG = logging.getLogger(__name__)
ScoringPairs = Sequence[tuple[Example, str]]
"""Examples with the completions to be scored."""
ScoreKey: TypeAlias = tuple[str, str, str]
"""The example's id and target, and the completion."""
ScoreCache: TypeAlias = MutableMapping[ScoreKey, Score]


@runtime_checkable
class BatchTask(Protocol):
    """A task that scores many completions in one request, because each request has a cost."""

    def score_until_failure(self, pairs: ScoringPairs) -> tuple[list[Score], Failure | None]:
        """Score in order, and stop at the first failure: (the scores before it, its failure or None)."""


class RewardFailed(RuntimeError):
    """A reward could not be computed. `key`, `example_id` and `prompt` name the example; `details` has the last
    traceback."""

    def __init__(self, example: Example, completion: str, failure: Failure) -> None:
        super().__init__(f"the reward of prompt {example.id} failed twice: {failure.reason}\n{failure.details}")
        self.key = score_key(example, completion)
        self.example_id = example.id
        self.prompt = example.messages[-1]["content"]
        self.reason = failure.reason
        self.details = failure.details


def score_safely(task: Task, pairs: ScoringPairs, cache: ScoreCache | None = None) -> list[Score]:
    """Return a score for each, in order; equal completions of one example are scored once.

    `cache` holds the scores of earlier calls and gets those of this one. A score that fails is retried once; then
    RewardFailed is raised. A reward that is no finite number is a failure as well.
    """
    cache = {} if cache is None else cache
    for failure in score_new(task, pairs, cache):
        raise failure
    return [cache[score_key(example, completion)] for example, completion in pairs]


def score_new(task: Task, pairs: ScoringPairs, cache: ScoreCache) -> Iterator[RewardFailed]:
    """Score the pairs that `cache` lacks and add them. Yield an error for each pair that failed twice, and continue."""
    keyed = {score_key(example, completion): (example, completion) for example, completion in pairs}
    left = [(key, pair) for key, pair in keyed.items() if key not in cache]
    retried: ScoreKey | None = None
    while left:
        scores, failure = _until_failure(task, [pair for _, pair in left])
        done, left = left[: len(scores)], left[len(scores) :]
        cache.update(zip((key for key, _ in done), scores, strict=True))
        if failure is None:
            break
        key, (example, completion) = left[0]
        if key == retried:
            left = left[1:]
            yield RewardFailed(example, completion, failure)
        else:
            LOG.warning("Reward of prompt %s failed (%s); retrying once", example.id, failure.reason)
            retried = key
    if left:
        raise ValueError(f"the task {task.name} returned {len(left)} scores too few")


def score_key(example: Example, completion: str) -> ScoreKey:
    """Return the key of a pair in the cache: two examples of equal id may have different targets."""
    return example.id, example.target, completion


def _until_failure(task: Task, pairs: ScoringPairs) -> tuple[list[Score], Failure | None]:
    if isinstance(task, BatchTask):
        return task.score_until_failure(pairs)
    scores: list[Score] = []
    for example, completion in pairs:
        try:
            scores.append(_checked(task.score(example, completion)))
        except Exception as error:
            return scores, Failure(f"{type(error).__name__}: {error}", traceback.format_exc())
    return scores, None


def _checked(score: Score) -> Score:
    """Return the score in plain floats. Raise TypeError or ValueError if a value is no number, or not finite."""
    if not isinstance(score, Score):
        raise TypeError(f"a task must return a Score, not {score!r}"[:200])
    parts = {name: finite(f"part {name}", value) for name, value in score.parts.items()}
    return Score(finite("reward", score.reward), parts)


def finite(name: str, value: object) -> float:
    """Return the number as a float. Raise TypeError if it is none, ValueError if it is not finite."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"the {name} must be a number, not {value!r}"[:200])
    if not math.isfinite(value):
        raise ValueError(f"the {name} must be finite, not {value!r}")
    return float(value)
