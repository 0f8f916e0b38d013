"""Manages one of the other engines, in a thread: sends requests to its process, and restarts it when it is lost.

Commands come in the order in which the training process gives them, so that an engine has every update before the next
request for responses. A restarted engine has caught up with the log; it skips the updates in it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from typing import Protocol

from workers.engines.es.batches import Batch
from workers.engines.es.engine_group.process import EngineLost, EngineProcess, EngineSetup
from workers.engines.es.engine_group.wire import Ids
from workers.models.decoder import Completion

MAX_CONSECUTIVE_FAILURES = 3
"""Losses without a batch answered in between, after which an engine is given up."""
LIMIT_FACTOR, MIN_LIMIT_SECONDS = 20.0, 60.0
"""An engine hangs if it takes so many times as long as usual, and at least so many seconds."""
HISTORY_LENGTH = 16
RESTART_PAUSE_SECONDS = 2.0


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
    """The update that makes `step`, as bytes of a message."""

    step: int
    body: bytes


@dataclass(frozen=True)
class Compare:
    """Hash the weights of `step`; the engine's number goes to `replies` when it has."""

    step: int
    replies: SimpleQueue[int]


Command = Iteration | Update | Compare


class GroupView(Protocol):
    """The group as its engines see it."""

    logged: tuple[int, str]
    """The last step whose update is in the replay log, and its lineage."""
    checkpoint: Path | None
    """The newest checkpoint on the way to it."""
    pace: Pace

    def offer(self, iteration: Iteration) -> None:
        """Offer a batch that has come back to every engine."""

    def alert(self, message: str) -> None:
        """Report something that a user should know."""

    def fail(self, error: BaseException) -> None:
        """End the run with this error."""


class RemoteEngine(threading.Thread):
    """One engine. `commands` takes its commands; the other attributes report its state."""

    def __init__(self, number: int, setup: EngineSetup, group: GroupView, start: Callable[[], EngineProcess]) -> None:
        super().__init__(name=f"engine-{number}", daemon=True)
        self.number = number
        self.commands: SimpleQueue[Command | None] = SimpleQueue()
        self.state = "starting"
        self.members = self.tokens = self.restarts = 0
        self.seconds = 0.0
        self.compared: tuple[int, str] | None = None
        """Step and hash of the weights, when they were last hashed."""
        self._setup, self._group, self._start_process = setup, group, start
        self._process: EngineProcess | None = None
        self._step = -1
        self._prompts: Ids | None = None
        self._failures = 0
        self._closed = threading.Event()

    def run(self) -> None:
        """Do all commands, until None comes."""
        try:
            self._serve()
        except BaseException as error:
            self.state = "given_up"
            if not self._closed.is_set():
                self._group.fail(error)
        finally:
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process and the thread, whatever they are doing."""
        self._closed.set()
        self.commands.put(None)
        if (process := self._process) is not None:
            process.end_now()

    def _serve(self) -> None:
        self._start()
        while (command := self.commands.get()) is not None and self.state != "given_up":
            done = False
            while not done and self.state != "given_up":
                try:
                    self._do(command)
                    done = True
                except EngineLost as lost:
                    self._start(str(lost))

    def _start(self, reason: str = "") -> None:
        """Start the process until it holds the present weights, or give it up. `reason` describes how the last one was
        lost."""
        while not self._closed.is_set():
            self.state = "starting"
            if reason and not self._may_restart(reason):
                return
            try:
                process = self._process = self._start_process()
            except OSError as error:
                reason = f"could not be started: {error}"
                continue
            if self._closed.is_set():
                return
            try:
                process.start(self._setup, self._group.checkpoint)
                self._catch_up(process)
                self.state = "ready"
                return
            except EngineLost as lost:
                reason = str(lost)

    def _catch_up(self, process: EngineProcess) -> None:
        """Send the engine the updates up to the present weights, which may advance meanwhile."""
        self._step, self._prompts = -1, None
        while self._step < self._group.logged[0]:
            step, lineage = self._group.logged
            self.compared = step, process.catch_up(lineage)
            self._step = step

    def _may_restart(self, reason: str) -> bool:
        self._failures += 1
        if self._failures > MAX_CONSECUTIVE_FAILURES:
            self.state = "given_up"
            self._group.alert(
                f"engine {self.number} {reason}; it is stopped after {self._failures} failures in a row, and the "
                "other engines take over its members"
            )
            return False
        self.restarts += 1
        self._group.alert(f"engine {self.number} {reason}; it restarts and catches up from the replay log")
        return not self._closed.wait(RESTART_PAUSE_SECONDS * (self._failures - 1))

    def _do(self, command: Command) -> None:
        if self._closed.is_set() or self._process is None or command.step < self._step:
            # It has caught up with a later step: this one is over.
            return
        needed = command.step - 1 if isinstance(command, Update) else command.step
        if needed > self._step:
            raise RuntimeError(f"engine {self.number} has the weights of step {self._step}, not of step {needed}")
        if isinstance(command, Update):
            if command.step > self._step:
                self._process.send_update(command.body)
                self._step = command.step
        elif isinstance(command, Compare):
            self.compared = command.step, self._process.weights_hash(self._group.pace.limit)
            command.replies.put(self.number)
        else:
            self._answer(self._process, command)

    def _answer(self, process: EngineProcess, iteration: Iteration) -> None:
        while (batch := iteration.take()) is not None:
            try:
                if self._prompts is not iteration.prompts:
                    process.send_prompts(iteration.prompts)
                    self._prompts = iteration.prompts
                answers, seconds, phases = process.answer(batch.seeds, self._group.pace.limit)
            except BaseException:
                iteration.waiting.append(batch)
                self._group.offer(iteration)
                raise
            self._failures = 0
            self._count(batch, answers, seconds)
            iteration.finish(BatchAnswers(batch, answers, self.number, phases), seconds)

    def _count(self, batch: Batch, answers: Sequence[Sequence[Completion]], seconds: float) -> None:
        self.members += len(batch.seeds)
        self.tokens += sum(len(answer.tokens) for of_member in answers for answer in of_member)
        self.seconds += seconds
        self._group.pace.add(seconds)
