"""Distributes the batches of an iteration among engines that are processes of their own, and compares their weights."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from workers.engines.es.batches import Batch, BatchPlan
from workers.engines.es.engine_group.commands import (
    BatchAnswers,
    Command,
    Compare,
    Iteration,
    Pace,
    Request,
    Update,
)
from workers.engines.es.engine_group.failures import EnginesDiffer, EnginesLost, describe_difference
from workers.engines.es.engine_group.process import EngineProcess
from workers.engines.es.engine_group.remote import RemoteEngine
from workers.engines.es.engine_group.setup import EngineSetup
from workers.engines.es.engine_group.starter import EngineStarter
from workers.engines.es.engine_group.wire import HEADER_BYTES, Ids, pack_update
from workers.records import Engine

START_WAIT_SECONDS, LOOK_SECONDS = 120.0, 0.2
CLOSE_SECONDS = 5.0
REPLY_SECONDS = 0.5
KIND_BYTES = 1


class RemoteGroup:
    """The engines of one attempt. `answer`, `update`, `log` and `compare` follow one another in each iteration.

    `starter` starts the process of the engine of a number, from `first` on. Any method may raise what ended the thread
    of an engine, such as EngineRefused.
    """

    first = 0

    def __init__(self, plan: BatchPlan, starter: EngineStarter, setup: EngineSetup, count: int) -> None:
        self.logged = (0, "")
        self.checkpoint: Path | None = None
        self.pace = Pace()
        self.update_bytes = 0
        self.anchor_distance: float | None = None
        """‖θ − θ₀‖ after the last update, if the engines hold θ₀."""
        self._plan = plan
        self._starter = starter
        self._count = count
        self._alerts: SimpleQueue[str] = SimpleQueue()
        self._losses: list[str] = []
        self._error: BaseException | None = None
        self._iteration: Iteration | None = None
        self._request: Request | None = None
        self._ready: list[int] = []
        self._began = 0.0
        self._remotes = [RemoteEngine(number, setup, self, starter) for number in range(self.first, count)]

    def begin(self, step: int, lineage: str, checkpoint: Path | None) -> None:
        """Start the engines, with the weights of the checkpoint or the base model, updated to `step`."""
        self.logged, self.checkpoint = (step, lineage), checkpoint
        for engine in self._remotes:
            engine.start()

    def wait_for_start(self) -> Iterator[str]:
        """Yield the engines being waited for whenever they change, until every engine was started once, well or not.

        Slower engines join later: the responses do not depend on which engine gives them.
        """
        until, before = time.monotonic() + START_WAIT_SECONDS, list[int]()
        while waiting := [e.number for e in self._remotes if e.state == "starting" and not e.restarts]:
            if time.monotonic() > until and self.can_answer():
                break
            if waiting != before:
                yield f"waiting for engines that load the model: {', '.join(map(str, waiting))}"
            before = waiting
            time.sleep(LOOK_SECONDS)
            self._check()

    def can_answer(self) -> bool:
        """Return whether an engine has its weights."""
        return any(engine.state == "ready" for engine in self._remotes)

    def answer(self, seeds: Sequence[int], prompts: Ids, *, with_centre: bool) -> Iterator[BatchAnswers]:
        """Yield the answers of the members of these seeds, batch by batch as engines finish them, in any order.

        The centre's answers are a batch without seeds.
        """
        self._began = time.perf_counter()
        self._ready = [engine.number for engine in self._remotes if engine.state == "ready"]
        batches = [*self._plan.cut(seeds), *([Batch(len(seeds), ())] if with_centre else [])]
        iteration = self._iteration = Iteration(self.logged[0], prompts, deque(batches))
        yield from self._batches(iteration, len(batches))

    def update(self, step: int, directions: Mapping[int, float], decay: float = 0.0) -> float:
        """Apply the update that makes `step` on all engines. Return the norm of its step, without the decay."""
        began, update = time.perf_counter(), self._post_update(step, directions, decay)
        norm: float
        norm, self.anchor_distance = self._wait_for(update.replies)
        self.pace.add(time.perf_counter() - began)
        return norm

    def request(self, work: Callable[[EngineProcess], Any], prompts: Ids | None = None) -> Any:
        """Return what `work` returns for the process of the first engine that is free, with these prompts."""
        request = self._request = Request(self.logged[0], work, prompts)
        self.post(request)
        return self._wait_for(request.results)

    def take_own_phases(self) -> dict[str, float]:
        """Return the seconds of engine 0 in each phase if it is this process. `answer` yields those of the others.

        The others apply an update after it was sent, so its seconds come with their next answers.
        """
        return {}

    def log(self, step: int, lineage: str) -> None:
        """Note that the update of this step is in the replay log: an engine that starts now catches up with it."""
        self.logged = step, lineage

    def compare(self, step: int, patience: float = float("inf")) -> list[int]:
        """Compare the hashes of all engines that are ready. Raise EnginesDiffer.

        Return the numbers of engines that have not hashed their weights for so many seconds.
        """
        if self._count == 1:
            return []
        replies: SimpleQueue[int] = SimpleQueue()
        waiting = {engine.number: engine for engine in self._remotes if engine.state == "ready"}
        self.post(Compare(step, replies))
        self._note_own_hash(step)
        until = time.monotonic() + patience
        # An engine that is lost meanwhile is compared when it has caught up.
        while waiting := {number: engine for number, engine in waiting.items() if engine.state == "ready"}:
            if time.monotonic() > until:
                break
            try:
                waiting.pop(replies.get(timeout=REPLY_SECONDS), None)
            except Empty:
                self._check()
        self._check()
        return sorted(waiting)

    def abandon(self) -> None:
        """Give up the iteration or request: engines stop answering, and take no other batch."""
        if self._iteration is not None:
            self._iteration.is_abandoned = True
            self._iteration.waiting.clear()
        if self._request is not None:
            self._request.waiting.clear()
        for engine in self._remotes:
            engine.abandon()

    def idle_seconds(self) -> float:
        """Return the seconds without work since the iteration began, over all engines that were ready then."""
        busy = self._iteration.busy_seconds if self._iteration else {}
        passed = time.perf_counter() - self._began
        return sum(max(0.0, passed - busy.get(number, 0.0)) for number in self._ready)

    def report(self) -> tuple[Engine, ...]:
        """Return how the engines are doing; nothing if there is only one."""
        if self._count == 1:
            return ()
        return tuple(engine.report() for engine in self._remotes)

    def alerts(self) -> Iterator[str]:
        """Yield the messages since the last call."""
        yield from self._starter.alerts()
        while not self._alerts.empty():
            yield self._alerts.get()

    def close(self) -> None:
        """End the engines that are processes of their own. What they were answering is lost."""
        for engine in self._remotes:
            engine.close()
        for engine in self._remotes:
            if engine.is_alive():
                engine.join(CLOSE_SECONDS)
        self._starter.close()

    def start_turn(self, number: int) -> AbstractContextManager[None]:
        """Return a context in which the engine of this number may start: here all start at once."""
        return nullcontext()

    def offer(self, iteration: Iteration) -> None:
        """Offer every engine the batches of this iteration."""
        self.post(iteration)
        iteration.finished.put(None)

    def post(self, command: Command) -> None:
        """Give a command to every engine that is not given up."""
        for engine in self._remotes:
            if engine.state != "given_up":
                engine.commands.put(command)

    def alert(self, message: str) -> None:
        """Store a message for `alerts`."""
        self._losses.append(message)
        self._alerts.put(message)

    def fail(self, error: BaseException) -> None:
        """Let the next call of the training process raise this error."""
        self._error = error
        if self._iteration is not None:
            self._iteration.finished.put(None)

    def _batches(self, iteration: Iteration, remaining: int) -> Iterator[BatchAnswers]:
        self.offer(iteration)
        while remaining:
            if (answered := self._wait_for(iteration.finished)) is not None:
                yield answered
                remaining -= 1

    def _post_update(self, step: int, directions: Mapping[int, float], decay: float) -> Update:
        update = Update(step, pack_update(directions, decay))
        self.update_bytes = HEADER_BYTES + KIND_BYTES + len(update.body)
        self.post(update)
        return update

    def _wait_for(self, results: SimpleQueue[Any]) -> Any:
        """Return the next result. Raise what `_check` raises."""
        while True:
            try:
                return results.get(timeout=REPLY_SECONDS)
            except Empty:
                self._check()

    def _check(self) -> None:
        """Raise an error from an engine's thread, EnginesLost, or EnginesDiffer."""
        if self._error is not None:
            raise self._error
        if self._remotes and not self.first and all(engine.state == "given_up" for engine in self._remotes):
            raise EnginesLost(f"all engines are lost: {'; '.join(self._losses[-self._count :])}")
        for step, hashes in self._hashes().items():
            if len(set(hashes.values())) > 1:
                raise EnginesDiffer(describe_difference(hashes, step))

    def _hashes(self) -> dict[int, dict[int, str]]:
        """Return step -> engine -> hash of its weights, for the last comparison of each engine."""
        by_step: dict[int, dict[int, str]] = {}
        for engine in self._remotes:
            if engine.compared is not None:
                step, weights = engine.compared
                by_step.setdefault(step, {})[engine.number] = weights
        return by_step

    def _note_own_hash(self, step: int) -> None:
        """Hash the weights of this process, if it holds any."""
