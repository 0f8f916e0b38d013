"""Scores responses in a thread, while more of them are being written.

Responses that have come in since the last call are scored together, over several members: a scorer is called with large
batches, and equal responses of several members are scored once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue

from workers.models.decoder import Completion
from workers.tasks import Example, RewardFailed, Score, ScoreCache, Task, score_key, score_new

Pair = tuple[Example, str]
PAIRS_PER_CALL = 256
"""A scorer has a time limit for each call, and scores from before a failing call are retained."""
JOIN_SECONDS = 1.0


class Scoring:
    """Scores of one iteration's answers to the same examples.

    A reward that fails ends it, or with `keeps_going` fails those alone who gave that answer. `seconds` is the time
    spent in the task's rewards, most of it while more answers are being written.
    """

    def __init__(self, task: Task, examples: Sequence[Example], *, keeps_going: bool) -> None:
        self.seconds = 0.0
        self._task = task
        self._examples = examples
        self._keeps_going = keeps_going
        self._waiting: SimpleQueue[list[Pair] | None] = SimpleQueue()
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._scores: ScoreCache = {}
        self._failures: dict[tuple[str, str, str], RewardFailed] = {}
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="scoring", daemon=True)
        self._thread.start()

    def add(self, answers: Sequence[Sequence[Completion]]) -> None:
        """Score the answers [member][prompt] of a batch in turn. Raise what has ended the scoring so far."""
        if not self._ended.empty():
            self.finish()
        self._waiting.put([pair for of_member in answers for pair in self._pairs(of_member)])

    def __enter__(self) -> Scoring:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the thread end with the call that it is in, at the latest."""
        self._is_over = True
        self._waiting.put(None)
        self._thread.join(JOIN_SECONDS)

    def finish(self) -> None:
        """Wait until all are scored. Raise RewardFailed, or any other error that ended the scoring."""
        self._waiting.put(None)
        if (error := self._ended.get()) is not None:
            raise error

    def scores(self, answers: Sequence[Completion]) -> list[Score]:
        """Return the scores of one member's answers, once `finish` has returned. Raise RewardFailed."""
        keys = [score_key(*pair) for pair in self._pairs(answers)]
        for key in keys:
            if key in self._failures:
                raise self._failures[key]
        return [self._scores[key] for key in keys]

    def _pairs(self, answers: Sequence[Completion]) -> list[Pair]:
        return [(example, answer.text) for example, answer in zip(self._examples, answers, strict=True)]

    def _run(self) -> None:
        try:
            while (pairs := self._next_pairs()) is not None:
                for start in range(0, len(pairs), PAIRS_PER_CALL):
                    if self._is_over:
                        return
                    began = time.perf_counter()
                    self._score(pairs[start : start + PAIRS_PER_CALL])
                    self.seconds += time.perf_counter() - began
        except BaseException as error:
            self._ended.put(error)
        else:
            self._ended.put(None)

    def _score(self, pairs: Sequence[Pair]) -> None:
        """Score pairs, but for those that have failed before."""
        new_pairs = [pair for pair in pairs if score_key(*pair) not in self._failures]
        for failure in score_new(self._task, new_pairs, self._scores):
            if not self._keeps_going:
                raise failure
            self._failures[failure.key] = failure

    def _next_pairs(self) -> list[Pair] | None:
        """Wait for answers. Return all that have come, up to a limit; None at the end."""
        pairs = self._waiting.get()
        while pairs is not None and len(pairs) < PAIRS_PER_CALL:
            try:
                more = self._waiting.get_nowait()
            except Empty:
                break
            if more is None:
                self._waiting.put(None)
                break
            pairs = pairs + more
        return pairs
