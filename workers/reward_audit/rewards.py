"""Score the responses of an audit by the task's own reward. A failure is counted with its reason, never as a number."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from workers.tasks import Example, RewardFailed, Score, ScoreCache, Task, score_key, score_new
from workers.tasks.protocols import ConstrainedTask

MAX_FAILURES = 3
"""Failures of one attack after which its other responses are not scored: each may take twice its time limit."""
BATCH = 256


class OutOfTime(Exception):
    """The time limit of the audit is over."""


class Rewards:
    """The reward that training raises, of any response: R, or R − λ·C with the first λ if scores have a cost.

    `check` is called between batches and may raise. After `seconds`, `score` raises OutOfTime.
    """

    def __init__(self, task: Task, seconds: float, check: Callable[[], None] = lambda: None) -> None:
        self.task = task
        self._check = check
        self._end = time.monotonic() + seconds
        self._scores: ScoreCache = {}
        self._failures: dict[tuple[str, str, str], str] = {}

    def score(self, pairs: Sequence[tuple[Example, str]]) -> list[Score | None]:
        """Return the score of each response, None for one without. Raise OutOfTime, and ScorerFailed."""
        failures = 0
        for start in range(0, len(pairs), BATCH):
            self._check()
            if time.monotonic() > self._end:
                raise OutOfTime
            batch = [pair for pair in pairs[start : start + BATCH] if score_key(*pair) not in self._failures]
            for failure in score_new(self.task, batch, self._scores):
                failures += 1
                self._failures[failure.key] = _reason(failure)
                if failures >= MAX_FAILURES:
                    return [self._scores.get(score_key(*pair)) for pair in pairs]
        return [self._scores.get(score_key(*pair)) for pair in pairs]

    def reward(self, score: Score | None) -> float | None:
        """Return the number that training raises."""
        if score is None:
            return None
        if isinstance(self.task, ConstrainedTask):
            return self.task.fitness([score], self.task.rule.first.value)[0]
        return score.reward

    def failure(self, pairs: Sequence[tuple[Example, str]]) -> str:
        """Return the reason of the first failure among these responses; empty if there is none."""
        return next((self._failures[key] for pair in pairs if (key := score_key(*pair)) in self._failures), "")

    def unlimited(self) -> None:
        """Lift the time limit: the responses of a model are bounded by their number."""
        self._end = float("inf")


def _reason(failure: RewardFailed) -> str:
    return f"the reward of the prompt {failure.prompt[:100]!r} failed twice: {failure.reason}"
