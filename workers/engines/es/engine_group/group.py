"""Distributes the batches of an iteration among engines, keeps their weights equal, and checks that they are.

This process is engine 0. It answers like the others, in the main thread, where a request to stop cuts it short.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

from workers.engines.es.backend import PopulationBackEnd
from workers.engines.es.batches import Batch, BatchPlan
from workers.engines.es.engine_group.process import EngineProcess, EngineSetup
from workers.engines.es.engine_group.remote import (
    HISTORY_LENGTH,
    BatchAnswers,
    Compare,
    Iteration,
    Pace,
    RemoteEngine,
    Update,
)
from workers.engines.es.engine_group.wire import HEADER_BYTES, Ids, pack_update
from workers.records import Engine

START_WAIT_SECONDS, LOOK_SECONDS = 120.0, 0.2
CLOSE_SECONDS = 5.0
REPLY_SECONDS = 0.5
KIND_BYTES = 1


class EnginesDiffer(RuntimeError):
    """Engines that must hold equal bits do not. The message names engines and step."""


class EngineGroup:
    """The engines of one attempt. `answer`, `update`, `log` and `compare` follow one another in each iteration.

    `start_process` makes the process of the engine of a number. Any method may raise what ended the thread of another
    engine, such as EngineRefused.
    """

    def __init__(
        self,
        backend: PopulationBackEnd,
        plan: BatchPlan,
        devices: Sequence[str],
        setup: EngineSetup,
        count: int,
        start_process: Callable[[int], EngineProcess],
    ) -> None:
        self.logged = (0, "")
        self.checkpoint: Path | None = None
        self.pace = Pace()
        self.update_bytes = 0
        self._backend = backend
        self._members = self._tokens = 0
        self._seconds = 0.0
        self._plan = plan
        self._devices = devices
        self._hashes: dict[int, str] = {}
        self._alerts: SimpleQueue[str] = SimpleQueue()
        self._error: BaseException | None = None
        self._iteration: Iteration | None = None
        self._ready: list[int] = []
        self._began = 0.0
        self._remotes = [
            RemoteEngine(number, setup, self, lambda number=number: start_process(number))  # type: ignore[misc]
            for number in range(1, count)
        ]

    def begin(self, step: int, lineage: str, checkpoint: Path | None) -> None:
        """Start the other engines, with the weights that engine 0 holds now."""
        self.logged, self.checkpoint = (step, lineage), checkpoint
        if self._remotes:
            self._note_hash(step)
        for engine in self._remotes:
            engine.start()

    def wait_for_start(self) -> Iterator[str]:
        """Yield the engines being waited for whenever they change, until every engine was started once, well or not.

        Slower engines join later: the responses do not depend on which engine gives them.
        """
        until, before = time.monotonic() + START_WAIT_SECONDS, list[int]()
        while waiting := [e.number for e in self._remotes if e.state == "starting" and not e.restarts]:
            if time.monotonic() > until:
                break
            if waiting != before:
                yield f"waiting for engines that load the model: {', '.join(map(str, waiting))}"
            before = waiting
            time.sleep(LOOK_SECONDS)
            self._check()

    def answer(self, seeds: Sequence[int], prompts: Ids, *, with_centre: bool) -> Iterator[BatchAnswers]:
        """Yield the answers of the members of these seeds, batch by batch as engines finish them, in any order.

        The centre's answers are a batch without seeds.
        """
        self._began = time.perf_counter()
        self._ready = [0, *(engine.number for engine in self._remotes if engine.state == "ready")]
        batches = [*self._plan.cut(seeds), *([Batch(len(seeds), ())] if with_centre else [])]
        iteration = self._iteration = Iteration(self.logged[0], prompts, deque(batches))
        own, remaining = iteration.take(), len(batches)
        self.offer(iteration)
        while remaining:
            if own is not None:
                yield from self._answer_here(iteration, own)
                remaining -= 1
            for answered in self._finished(iteration, wait=own is None):
                yield answered
                remaining -= 1
            self._check()
            own = iteration.take()

    def update(self, step: int, directions: Mapping[int, float], decay: float = 0.0) -> float:
        """Apply the update that makes `step` on all engines. Return the norm of its step, without the decay."""
        body = pack_update(directions, decay)
        self.update_bytes = HEADER_BYTES + KIND_BYTES + len(body)
        self._post(Update(step, body))
        began = time.perf_counter()
        norm = self._backend.update(directions, decay)
        self.pace.add(time.perf_counter() - began)
        return norm

    def take_own_phases(self) -> dict[str, float]:
        """Return engine 0's seconds in each phase since the last call. `answer` yields those of the others.

        The others apply an update after it was sent, so its seconds come with their next answers.
        """
        return self._backend.phases.take()

    def log(self, step: int, lineage: str) -> None:
        """Note that the update of this step is in the replay log: an engine that starts now catches up with it."""
        self.logged = step, lineage

    def compare(self, step: int, patience: float = float("inf")) -> list[int]:
        """Compare the hashes of all engines that are ready. Raise EnginesDiffer.

        Return the numbers of engines that have not hashed their weights for so many seconds.
        """
        if not self._remotes:
            return []
        replies: SimpleQueue[int] = SimpleQueue()
        waiting = {engine.number: engine for engine in self._remotes if engine.state == "ready"}
        self._post(Compare(step, replies))
        self._note_hash(step)
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
        """Give up the iteration: engines finish the batch that they are at, and take no other."""
        if self._iteration is not None:
            self._iteration.waiting.clear()

    def idle_seconds(self) -> float:
        """Return the seconds without work since the iteration began, over all engines that were ready then."""
        busy = self._iteration.busy_seconds if self._iteration else {}
        passed = time.perf_counter() - self._began
        return sum(max(0.0, passed - busy.get(number, 0.0)) for number in self._ready)

    def report(self) -> tuple[Engine, ...]:
        """Return how the engines are doing; nothing if there is only one."""
        if not self._remotes:
            return ()
        step = max(self._hashes)
        counts = self._members, self._tokens, self._seconds
        own = Engine(0, "ready", self._devices[0], *counts, 0, self._hashes[step], step)
        return (own, *(_report(e, self._devices[e.number % len(self._devices)]) for e in self._remotes))

    def alerts(self) -> Iterator[str]:
        """Yield the messages since the last call."""
        while not self._alerts.empty():
            yield self._alerts.get()

    def close(self) -> None:
        """End the other engines. What they were answering is lost."""
        for engine in self._remotes:
            engine.close()
        for engine in self._remotes:
            if engine.is_alive():
                engine.join(CLOSE_SECONDS)

    def offer(self, iteration: Iteration) -> None:
        """Offer every engine the batches of this iteration."""
        self._post(iteration)
        iteration.finished.put(None)

    def alert(self, message: str) -> None:
        """Store a message for `alerts`."""
        self._alerts.put(message)

    def fail(self, error: BaseException) -> None:
        """Let the next call of the training process raise this error."""
        self._error = error
        if self._iteration is not None:
            self._iteration.finished.put(None)

    def _post(self, command: Update | Compare | Iteration) -> None:
        for engine in self._remotes:
            if engine.state != "given_up":
                engine.commands.put(command)

    def _answer_here(self, iteration: Iteration, batch: Batch) -> Iterator[BatchAnswers]:
        """Yield the batch's responses, some members at a time: they are scored while the others are answered."""
        backend, prompts = self._backend, iteration.prompts
        began, seconds, first = time.perf_counter(), 0.0, batch.first
        parts = backend.answer_each(batch.seeds, prompts) if batch.seeds else iter([[backend.answer_centre(prompts)]])
        for answers in parts:
            seconds += time.perf_counter() - began
            seeds = batch.seeds[first - batch.first :][: len(answers)]
            self._tokens += sum(len(answer.tokens) for of_member in answers for answer in of_member)
            yield BatchAnswers(Batch(first, seeds), answers, 0)
            first, began = first + len(seeds), time.perf_counter()
        seconds += time.perf_counter() - began
        self._members += len(batch.seeds)
        self._seconds += seconds
        self.pace.add(seconds)
        iteration.busy_seconds[0] = iteration.busy_seconds.get(0, 0.0) + seconds

    def _finished(self, iteration: Iteration, *, wait: bool) -> Iterator[BatchAnswers]:
        """Yield what the other engines have finished; if there is nothing to do here, wait for the next batch."""
        if wait and (answered := iteration.finished.get()) is not None:
            yield answered
        while not iteration.finished.empty():
            if (answered := iteration.finished.get()) is not None:
                yield answered

    def _check(self) -> None:
        """Raise an error from another engine's thread, or EnginesDiffer."""
        if self._error is not None:
            raise self._error
        compared = [(engine.number, engine.compared) for engine in self._remotes]
        for step, own in self._hashes.items():
            hashes = {number: at[1] for number, at in compared if at is not None and at[0] == step}
            if set(hashes.values()) - {own}:
                raise EnginesDiffer(describe_difference({0: own, **hashes}, step))

    def _note_hash(self, step: int) -> None:
        """Store the hash of engine 0's weights, for engines that will hash theirs of this step soon."""
        self._hashes[step] = self._backend.weights_hash()
        if len(self._hashes) > HISTORY_LENGTH:
            del self._hashes[min(self._hashes)]


def describe_difference(hashes: Mapping[int, str], step: int) -> str:
    """Describe which engines hold other weights than the rest after `step`. hashes: engine -> hash of its weights."""
    (common, count), *others = Counter(hashes.values()).most_common()
    different = [f"engine {number}" for number, weights in sorted(hashes.items()) if weights != common]
    if others and others[0][1] < count:
        detail = f"{', '.join(different)} must have the weights of the other {count}, but does not"
    else:
        detail = f"{', '.join(f'engine {number} has {weights[:8]}' for number, weights in sorted(hashes.items()))}"
    return (
        f"the engines' weights differ after step {step}: {detail}. Memory or a device may be faulty. Resume the run "
        "from its last checkpoint, which was saved while they were equal"
    )


def _report(engine: RemoteEngine, device: str) -> Engine:
    step, weights = engine.compared or (None, "")
    counts = engine.members, engine.tokens, engine.seconds, engine.restarts
    return Engine(engine.number, engine.state, device, *counts, weights, step)
