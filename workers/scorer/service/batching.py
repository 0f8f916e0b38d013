"""Texts of all clients wait in one line and go through the models together, in one thread.

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
FORGETTING = 0.9
"""How much of the measured speed stays from one batch to the next."""


class Full(Exception):
    """Too many texts wait; `seconds` until there is room again, as far as can be told."""

    def __init__(self, waiting: int, seconds: int) -> None:
        super().__init__(f"{waiting} texts wait already: ask again in {seconds} s")
        self.seconds = seconds


@dataclass(eq=False)
class Waiting:
    """A text in the line, and where its scores go."""

    text: str
    future: asyncio.Future[Scores] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Line:
    """The line and the thread that works it off. Use as a context, around the event loop's work."""

    def __init__(self, reward: ScoreModel, cost: ScoreModel, limits: Limits, metrics: Metrics) -> None:
        self.reward, self.cost, self._limits, self._metrics = reward, cost, limits, metrics
        self._waiting: deque[Waiting] = deque()
        self._something = threading.Condition()
        self._ended = False
        self._seconds_a_text = 0.01
        self._thread = threading.Thread(target=self._run, name="scores", daemon=True)

    def __enter__(self) -> Line:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        with self._something:
            self._ended = True
            self._something.notify()
        self._thread.join()

    async def scores(self, texts: Sequence[str]) -> list[Scores]:
        """One for each text. Raises Full, and whatever the models raise. Cancelled: what waits is not scored."""
        mine = self._queued(texts)
        try:
            return await asyncio.gather(*(one.future for one in mine))
        finally:
            # Where one failed, or nobody waits any more, the rest need not be scored.
            for one in mine:
                one.future.cancel()

    def _queued(self, texts: Sequence[str]) -> list[Waiting]:
        with self._something:
            waiting = len(self._waiting)
            if waiting and waiting + len(texts) > self._limits.waiting:
                raise Full(waiting, max(1, math.ceil(waiting * self._seconds_a_text)))
            mine = [Waiting(text) for text in texts]
            self._waiting.extend(mine)
            self._metrics.waiting.set(len(self._waiting))
            self._something.notify()
        return mine

    def _run(self) -> None:
        """Until the end, and the line is empty."""
        while batch := self._next():
            begun = time.monotonic()
            told = self._told([one.text for one in batch])
            each = (time.monotonic() - begun) / len(batch)
            self._seconds_a_text = FORGETTING * self._seconds_a_text + (1 - FORGETTING) * each
            for one, said in zip(batch, told, strict=True):
                one.future.get_loop().call_soon_threadsafe(_tell, one.future, said)

    def _next(self) -> list[Waiting]:
        """The next batch, waited for; empty at the end."""
        with self._something:
            batch: list[Waiting] = []
            while not batch:
                while self._waiting and len(batch) < self._limits.batch:
                    one = self._waiting.popleft()
                    batch += [] if one.future.cancelled() else [one]
                self._metrics.waiting.set(len(self._waiting))
                if self._ended and not batch:
                    return []
                if not batch:
                    self._something.wait()
        return batch

    def _told(self, texts: list[str]) -> list[Scores | Exception]:
        """Scores, or why there are none, of each."""
        self._metrics.batch.observe(len(texts))
        try:
            scores = self._scored(texts)
        except Exception as error:
            if len(texts) > 1:
                LOG.warning("a batch of %d texts failed and is tried text by text: %s", len(texts), error)
                return [said for text in texts for said in self._told([text])]
            LOG.exception("a text could not be scored")
            self._metrics.failed.inc()
            return [error]
        self._metrics.texts.inc(len(texts))
        return list(scores)

    def _scored(self, texts: list[str]) -> list[Scores]:
        rewards, costs = self.reward.scores(texts), self.cost.scores(texts)
        for name, scored in (("reward", rewards), ("cost", costs)):
            if not all(map(math.isfinite, scored.values)):
                raise ValueError(f"the {name} model gave a score that is no finite number")
            self._metrics.truncated.labels(name).inc(scored.truncated)
        return [Scores(*pair) for pair in zip(rewards.values, costs.values, strict=True)]


def _tell(future: asyncio.Future[Scores], said: Scores | Exception) -> None:
    if future.done():
        return
    if isinstance(said, Exception):
        future.set_exception(said)
    else:
        future.set_result(said)
