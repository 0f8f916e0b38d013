"""Commands that the training process gives its engines, and what they deliver.

Any engine may take a batch of an iteration, or a request; all apply every update, and hash their weights to compare
them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
from statistics import median
from typing import Any

from workers.engines.es.batches import Batch
from workers.engines.es.engine_group.process import EngineProcess
from workers.engines.es.engine_group.wire import Ids
from workers.models.decoder import Completion

LIMIT_FACTOR, MIN_LIMIT_SECONDS = 20.0, 60.0
"""An engine hangs if it takes so many times as long as usual, and at least so many seconds."""
HISTORY_LENGTH = 16


@dataclass(frozen=True)
class BatchAnswers:
    """A batch with its answers [member][prompt], and the number of the engine that gave them.

    `phases`: the engine's seconds in each phase since its last batch; empty for engine 0, see `take_own_phases`.
    """

    batch: Batch
    answers: list[list[Completion]]
    engine: int
    phases: Mapping[str, float] = field(default_factory=dict)


class Pace:
    """The seconds that batches and updates have taken lately, on any engine."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=HISTORY_LENGTH)

    def add(self, seconds: float) -> None:
        """Store the seconds that a batch or an update took."""
        self._seconds.append(seconds)

    def limit(self) -> float:
        """Return the seconds after which an engine counts as hanging. There is no limit before the first measurement.

        A median: a job that was suspended for an hour has one batch that took an hour.
        """
        seconds = list(self._seconds)
        return max(MIN_LIMIT_SECONDS, LIMIT_FACTOR * median(seconds)) if seconds else float("inf")


@dataclass
class Iteration:
    """The batches of one iteration. Every engine takes the next one that is left; the responses do not depend on
    which."""

    step: int
    """Number of updates in the weights that answer."""
    prompts: Ids
    waiting: deque[Batch]
    finished: SimpleQueue[BatchAnswers | None] = field(default_factory=SimpleQueue)
    """Finished batches. None wakes the training process: a batch has come back, or something is wrong."""
    is_abandoned: bool = False
    """Engines may then stop in the middle of a batch."""
    busy_seconds: dict[int, float] = field(default_factory=dict)
    """Engine -> seconds spent answering."""

    def take(self) -> Batch | None:
        """Return the next batch, or None."""
        try:
            return self.waiting.popleft()
        except IndexError:
            return None

    def finish(self, answered: BatchAnswers, seconds: float) -> None:
        """Deliver a batch's responses and the seconds that the engine was busy with them."""
        self.busy_seconds[answered.engine] = self.busy_seconds.get(answered.engine, 0.0) + seconds
        self.finished.put(answered)


@dataclass(frozen=True)
class Update:
    """The update that makes `step`, as bytes of a message. Engines put the norm of its step, and the distance from θ₀,
    to `replies`."""

    step: int
    body: bytes
    replies: SimpleQueue[tuple[float, float | None]] = field(default_factory=SimpleQueue)


@dataclass(frozen=True)
class Compare:
    """Hash the weights of `step`; the engine's number goes to `replies` when it has."""

    step: int
    replies: SimpleQueue[int]


@dataclass(frozen=True)
class Request:
    """Work on the weights of `step` for the first engine that is free, such as saving them.

    `work` is called with its process, after the prompts, if any, and makes the only item of `results`.
    """

    step: int
    work: Callable[[EngineProcess], Any]
    prompts: Ids | None = None
    waiting: deque[None] = field(default_factory=lambda: deque([None]))
    """Has one item until an engine takes the work, and again if that engine is lost."""
    results: SimpleQueue[Any] = field(default_factory=SimpleQueue)


Command = Iteration | Update | Compare | Request
