"""Texts of all clients wait in one queue and go through the models together, in one thread.

A batch that fails is tried again text by text: one client's text that no model can score costs the others nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType

from workers.scorer.models import ScoreModel
from workers.scorer.scores import Scores
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics

LOG = logging.getLogger(__name__)
SPEED_DECAY = 0.9
"""The share of the measured speed that stays from one batch to the next."""


class QueueFull(Exception):
    """Too many texts wait; `seconds` is an estimate of the time until there is room again."""

    def __init__(self, waiting: int, seconds: int) -> None:
        super().__init__(f"{waiting} texts are already waiting: try again in {seconds} s")
        self.seconds = seconds


@dataclass(eq=False)
class QueuedText:
    """A text in the queue, and the future that gets its scores."""

    text: str
    future: asyncio.Future[Scores] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ScoringQueue:
    """The queue and the thread that scores it. Use it as a context, around the event loop's work."""

    def __init__(self, reward: ScoreModel, cost: ScoreModel, limits: Limits, metrics: Metrics) -> None:
        self.reward, self.cost, self._limits, self._metrics = reward, cost, limits, metrics
        self._queue: deque[QueuedText] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._seconds_a_text = 0.01
        self._thread = threading.Thread(target=self._run, name="scores", daemon=True)

    def __enter__(self) -> ScoringQueue:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    async def scores(self, texts: Sequence[str]) -> list[Scores]:
        """Return the scores of each text. Raise QueueFull, and any error of the models. If cancelled, waiting texts are
        dropped."""
        queued = self._enqueue(texts)
        try:
            return await asyncio.gather(*(text.future for text in queued))
        finally:
            # If one text failed, or the caller has gone, the rest need not be scored.
            for entry in queued:
                entry.future.cancel()

    def _enqueue(self, texts: Sequence[str]) -> list[QueuedText]:
        with self._changed:
            waiting = len(self._queue)
            if waiting and waiting + len(texts) > self._limits.waiting:
                raise QueueFull(waiting, max(1, math.ceil(waiting * self._seconds_a_text)))
            queued = [QueuedText(text) for text in texts]
            self._queue.extend(queued)
            self._metrics.waiting.set(len(self._queue))
            self._changed.notify()
        return queued

    def _run(self) -> None:
        """Score batches until the queue is closed and empty."""
        while batch := self._next_batch():
            begun = time.monotonic()
            results = self._score_batch([queued.text for queued in batch])
            each = (time.monotonic() - begun) / len(batch)
            self._seconds_a_text = SPEED_DECAY * self._seconds_a_text + (1 - SPEED_DECAY) * each
            for queued, result in zip(batch, results, strict=True):
                queued.future.get_loop().call_soon_threadsafe(_resolve, queued.future, result)

    def _next_batch(self) -> list[QueuedText]:
        """Wait for the next batch and return it; return an empty list at the end."""
        with self._changed:
            batch: list[QueuedText] = []
            while not batch:
                while self._queue and len(batch) < self._limits.batch:
                    queued = self._queue.popleft()
                    batch += [] if queued.future.cancelled() else [queued]
                self._metrics.waiting.set(len(self._queue))
                if self._is_closed and not batch:
                    return []
                if not batch:
                    self._changed.wait()
        return batch

    def _score_batch(self, texts: list[str]) -> list[Scores | Exception]:
        """Return, for each text, its scores or the error."""
        self._metrics.batch.observe(len(texts))
        try:
            scores = self._score_texts(texts)
        except Exception as error:
            if len(texts) > 1:
                LOG.warning("Scorer batch of %d texts failed; retrying each text alone: %s", len(texts), error)
                return [result for text in texts for result in self._score_batch([text])]
            LOG.exception("Scorer could not score a text; its request gets the error")
            self._metrics.failed.inc()
            return [error]
        self._metrics.texts.inc(len(texts))
        return list(scores)

    def _score_texts(self, texts: list[str]) -> list[Scores]:
        rewards, costs = self.reward.scores(texts), self.cost.scores(texts)
        for name, scored in (("reward", rewards), ("cost", costs)):
            if not all(map(math.isfinite, scored.values)):
                raise ValueError(f"the {name} model returned a score that is not a finite number")
            self._metrics.truncated.labels(name).inc(scored.truncated)
        return [Scores(*pair) for pair in zip(rewards.values, costs.values, strict=True)]


def _resolve(future: asyncio.Future[Scores], result: Scores | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
