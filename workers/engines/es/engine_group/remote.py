"""Manages one of the other engines, in a thread: sends requests to its process, and restarts it when it is lost.

Commands come in the order in which the training process gives them, so that an engine has every update before the next
request for responses. A restarted engine has caught up with the log; it skips the updates in it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol

from workers.engine_nodes.processes import GpuMissing
from workers.engines.es.batches import Batch
from workers.engines.es.engine_group.commands import (
    BatchAnswers,
    Command,
    Compare,
    Iteration,
    Pace,
    Request,
    Update,
)
from workers.engines.es.engine_group.process import EngineLost, EngineProcess
from workers.engines.es.engine_group.setup import EngineSetup
from workers.engines.es.engine_group.starter import EngineStarter
from workers.engines.es.engine_group.wire import Ids
from workers.models.decoder import Completion
from workers.records import Engine

MAX_CONSECUTIVE_FAILURES = 3
"""Losses without a batch answered in between, after which an engine is given up."""
RESTART_PAUSE_SECONDS = 2.0


class GroupView(Protocol):
    """The group as its engines see it."""

    logged: tuple[int, str]
    """The last step whose update is in the replay log, and its lineage."""
    checkpoint: Path | None
    """The newest checkpoint on the way to it."""
    pace: Pace

    def start_turn(self, number: int) -> AbstractContextManager[None]:
        """Return a context in which the engine of this number may start. Entering it may wait for others."""

    def offer(self, iteration: Iteration) -> None:
        """Offer a batch that has come back to every engine."""

    def post(self, command: Command) -> None:
        """Give a command to every engine that is not given up."""

    def alert(self, message: str) -> None:
        """Report something that a user should know."""

    def fail(self, error: BaseException) -> None:
        """End the run with this error."""


class RemoteEngine(threading.Thread):
    """One engine. `commands` takes its commands; the other attributes report its state."""

    def __init__(self, number: int, setup: EngineSetup, group: GroupView, starter: EngineStarter) -> None:
        super().__init__(name=f"engine-{number}", daemon=True)
        self.number = number
        self.commands: SimpleQueue[Command | None] = SimpleQueue()
        self.state = "starting"
        self.members = self.tokens = self.restarts = 0
        self.seconds = 0.0
        self.compared: tuple[int, str] | None = None
        """Step and hash of the weights, when they were last hashed."""
        self._setup, self._group, self._starter = setup, group, starter
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

    def report(self) -> Engine:
        """Return the record of the engine."""
        step, weights = self.compared or (None, "")
        counts = self.members, self.tokens, self.seconds, self.restarts
        place, node = self._starter.place(self.number), self._starter.node_name(self.number)
        return Engine(self.number, self.state, place.device, *counts, weights, step, node)

    def abandon(self) -> None:
        """End what the engine is answering. Safe from any thread."""
        if (process := self._process) is not None:
            process.abandon()

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
            self._starter.wait(self.number, self._closed)
            with self._group.start_turn(self.number):
                if self._closed.is_set():
                    return
                try:
                    process = self._process = self._starter.start(self.number)
                    process.start(self._setup, self._group.checkpoint)
                    self._catch_up(process)
                    self.state = "ready"
                    return
                except (OSError, GpuMissing) as error:
                    reason = f"could not be started: {error}"
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
                command.replies.put(self._process.update(command.body, self._group.pace.limit))
                self._step = command.step
        elif isinstance(command, Request):
            self._work(self._process, command)
        elif isinstance(command, Compare):
            self.compared = command.step, self._process.weights_hash(self._group.pace.limit)
            command.replies.put(self.number)
        else:
            self._answer(self._process, command)

    def _work(self, process: EngineProcess, request: Request) -> None:
        try:
            request.waiting.popleft()
        except IndexError:
            # Another engine has taken it.
            return
        try:
            if request.prompts is not None:
                self._send_prompts(process, request.prompts)
            result = request.work(process)
        except BaseException:
            request.waiting.append(None)
            self._group.post(request)
            raise
        self._failures = 0
        request.results.put(result)

    def _send_prompts(self, process: EngineProcess, prompts: Ids) -> None:
        if self._prompts is not prompts:
            process.send_prompts(prompts)
            self._prompts = prompts

    def _answer(self, process: EngineProcess, iteration: Iteration) -> None:
        while (batch := iteration.take()) is not None:
            try:
                self._send_prompts(process, iteration.prompts)
                answers, seconds, phases = process.answer(batch.seeds, self._group.pace.limit)
                if len(answers) < max(1, len(batch.seeds)):
                    if iteration.is_abandoned:
                        return
                    raise process.lost(f"answered {len(answers)} of {len(batch.seeds)} members")
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
