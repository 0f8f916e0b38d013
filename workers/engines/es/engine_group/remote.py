"""Looks after one of the other engines, in a thread: asks its process, and starts it again when it is lost.

Commands come in the order in which the training process gives them, so that an engine has every update before it is
asked for the next answers. An engine that was started again has caught up with the log; it skips the updates in it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol

from workers.engines.es.batches import Batch
from workers.engines.es.engine_group.process import EngineLost, EngineProcess, EngineSetup
from workers.engines.es.engine_group.wire import Ids
from workers.models.decoder import Completion

FAILURES_IN_A_ROW = 3
"""Losses without a batch answered in between, after which an engine is given up."""
SLOWEST_TIMES, LEAST_LIMIT_SECONDS = 20.0, 60.0
"""An engine hangs if it takes so many times as long as the slowest batch of the run, and at least so long."""


@dataclass(frozen=True)
class Answered:
    """A batch with its answers [member][prompt], and the number of the engine that gave them."""

    batch: Batch
    answers: list[list[Completion]]
    engine: int


@dataclass
class Iteration:
    """The batches of one iteration. Every engine takes the next one that is left; which one does, changes no answer."""

    step: int
    """Updates that the weights have seen which answer."""
    prompts: Ids
    waiting: deque[Batch]
    finished: SimpleQueue[Answered | None] = field(default_factory=SimpleQueue)
    """None wakes the training process: a batch has come back, or something is wrong."""
    busy_seconds: dict[int, float] = field(default_factory=dict)
    """Engine -> seconds spent answering."""

    def take(self) -> Batch | None:
        """Return the next batch, or None."""
        try:
            return self.waiting.popleft()
        except IndexError:
            return None

    def finish(self, answered: Answered, seconds: float) -> None:
        """Hand in a batch's answers and the seconds that the engine was busy with them."""
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


class Surroundings(Protocol):
    """The group as its engines see it."""

    logged: tuple[int, str]
    """The last step whose update is in the replay log, and its lineage."""
    checkpoint: Path | None
    """The newest checkpoint on the way to it."""
    slowest_seconds: float
    """Of all batches so far."""

    def offer(self, iteration: Iteration) -> None:
        """Ask every engine for answers: a batch has come back."""

    def alert(self, message: str) -> None:
        """Say something that a person should know."""

    def fail(self, error: BaseException) -> None:
        """End the run with this error."""


class RemoteEngine(threading.Thread):
    """One engine. `commands` takes what it is to do; the other attributes say how it is doing."""

    def __init__(
        self, number: int, setup: EngineSetup, surroundings: Surroundings, start: Callable[[], EngineProcess]
    ) -> None:
        super().__init__(name=f"engine-{number}", daemon=True)
        self.number = number
        self.commands: SimpleQueue[Command | None] = SimpleQueue()
        self.state = "starting"
        self.members = self.tokens = self.restarts = 0
        self.seconds = 0.0
        self.compared: tuple[int, str] | None = None
        """Step and hash of the weights, when they were last hashed."""
        self._setup, self._surroundings, self._start_process = setup, surroundings, start
        self._process: EngineProcess | None = None
        self._step = -1
        self._prompts: Ids | None = None
        self._failures = 0
        self._is_closed = False

    def run(self) -> None:
        """Do all commands, until None comes."""
        try:
            self._serve()
        except BaseException as error:
            if not self._is_closed:
                self._surroundings.fail(error)
        finally:
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process and the thread, whatever they are doing."""
        self._is_closed = True
        self.commands.put(None)
        if (process := self._process) is not None:
            process.end_now()

    def _serve(self) -> None:
        self._start("is started")
        while (command := self.commands.get()) is not None and self.state != "given_up":
            done = False
            while not done and self.state != "given_up":
                try:
                    self._do(command)
                    done = True
                except EngineLost as lost:
                    self._start(str(lost))

    def _start(self, why: str) -> None:
        """Start the process, or start it again, until it holds the present weights; or give it up."""
        is_new = self._process is None
        while not self._is_closed:
            self.state = "starting"
            if not is_new and not self._may_restart(why):
                return
            try:
                process = self._process = self._start_process()
                if self._is_closed:
                    return
                # In this order: a checkpoint is never ahead of the log that is read after it.
                checkpoint = self._surroundings.checkpoint
                step, lineage = self._surroundings.logged
                weights = process.start(self._setup, checkpoint, lineage)
                self.compared, self._step, self._prompts, self.state = (step, weights), step, None, "ready"
                return
            except EngineLost as lost:
                why, is_new = str(lost), False

    def _may_restart(self, why: str) -> bool:
        self._failures += 1
        if self._failures > FAILURES_IN_A_ROW:
            self.state = "given_up"
            self._surroundings.alert(
                f"engine {self.number} {why}; it is given up after {self._failures} failures in a row, and the other "
                "engines answer its members"
            )
            return False
        self.restarts += 1
        self._surroundings.alert(f"engine {self.number} {why}; it is started again and catches up from the replay log")
        return True

    def _do(self, command: Command) -> None:
        if self._is_closed or self._process is None:
            return
        if isinstance(command, Update):
            if command.step > self._step:
                self._process.send_update(command.body)
                self._step = command.step
        elif command.step != self._step:
            # It has caught up with a later step: this one is over.
            return
        elif isinstance(command, Compare):
            self.compared = command.step, self._process.weights_hash(self._limit)
            command.replies.put(self.number)
        else:
            self._answer(self._process, command)

    def _answer(self, process: EngineProcess, iteration: Iteration) -> None:
        while (batch := iteration.take()) is not None:
            try:
                if self._prompts is not iteration.prompts:
                    process.send_prompts(iteration.prompts)
                    self._prompts = iteration.prompts
                answers, seconds = process.answer(batch.seeds, self._limit)
            except BaseException:
                iteration.waiting.append(batch)
                self._surroundings.offer(iteration)
                raise
            self._failures = 0
            self._count(answers, seconds)
            iteration.finish(Answered(batch, answers, self.number), seconds)

    def _count(self, answers: Sequence[Sequence[Completion]], seconds: float) -> None:
        self.members += len(answers)
        self.tokens += sum(len(answer.tokens) for of_member in answers for answer in of_member)
        self.seconds += seconds
        self._surroundings.slowest_seconds = max(self._surroundings.slowest_seconds, seconds)

    def _limit(self) -> float:
        """Return the seconds after which the engine hangs. Until a batch was answered anywhere there is no limit."""
        slowest = self._surroundings.slowest_seconds
        return max(LEAST_LIMIT_SECONDS, SLOWEST_TIMES * slowest) if slowest else float("inf")
