"""Distributes the batches of an iteration among this process and other engines, and keeps their weights equal.

This process is engine 0. It answers like the others, in the main thread, where a request to stop cuts it short.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from workers.engines.es.backend import PopulationBackEnd
from workers.engines.es.batches import Batch, BatchPlan
from workers.engines.es.engine_group.commands import HISTORY_LENGTH, BatchAnswers, Iteration
from workers.engines.es.engine_group.remote_group import RemoteGroup
from workers.engines.es.engine_group.setup import EngineSetup
from workers.engines.es.engine_group.starter import EngineStarter
from workers.records import Engine


class EngineGroup(RemoteGroup):
    """A group whose engine 0 is this process, with the weights of `backend`."""

    first = 1

    def __init__(
        self, backend: PopulationBackEnd, plan: BatchPlan, starter: EngineStarter, setup: EngineSetup, count: int
    ) -> None:
        super().__init__(plan, starter, setup, count)
        self._backend = backend
        self._members = self._tokens = 0
        self._seconds = 0.0
        self._own_hashes: dict[int, str] = {}

    def begin(self, step: int, lineage: str, checkpoint: Path | None) -> None:
        """Start the other engines, with the weights that engine 0 holds now."""
        if self._remotes:
            self._note_own_hash(step)
        super().begin(step, lineage, checkpoint)

    def update(self, step: int, directions: Mapping[int, float], decay: float = 0.0) -> float:
        """Apply the update that makes `step` on all engines. Return the norm of its step, without the decay."""
        self._post_update(step, directions, decay)
        began = time.perf_counter()
        norm = self._backend.update(directions, decay)
        self.pace.add(time.perf_counter() - began)
        return norm

    def take_own_phases(self) -> dict[str, float]:
        return self._backend.phases.take()

    def can_answer(self) -> bool:
        return True

    def abandon(self) -> None:
        """Give up the iteration: engines finish the batch that they are at, and take no other."""
        if self._iteration is not None:
            self._iteration.waiting.clear()

    def report(self) -> tuple[Engine, ...]:
        others = super().report()
        if not others:
            return ()
        step = max(self._own_hashes)
        counts = self._members, self._tokens, self._seconds
        place, node = self._starter.place(0), self._starter.node_name(0)
        return (Engine(0, "ready", place.device, *counts, 0, self._own_hashes[step], step, node), *others)

    def _batches(self, iteration: Iteration, remaining: int) -> Iterator[BatchAnswers]:
        self._ready = [0, *self._ready]
        own = iteration.take()
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

    def _hashes(self) -> dict[int, dict[int, str]]:
        by_step = super()._hashes()
        return {step: {0: own, **by_step.get(step, {})} for step, own in self._own_hashes.items()}

    def _note_own_hash(self, step: int) -> None:
        """Store the hash of engine 0's weights, for engines that will hash theirs of this step soon."""
        self._own_hashes[step] = self._backend.weights_hash()
        if len(self._own_hashes) > HISTORY_LENGTH:
            del self._own_hashes[min(self._own_hashes)]
