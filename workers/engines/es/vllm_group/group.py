"""The engines of vLLM of one attempt: they start in turn, and send token ids, which become text here."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group import BatchAnswers, EngineSetup, EngineStarter, RemoteGroup
from workers.engines.es.engine_group.commands import Iteration
from workers.engines.es.engine_group.wire import Decoding, Saving
from workers.gpus.mps import MpsDaemon
from workers.models.decoder import Completion, decode_texts

REQUEST_SECONDS = 3600.0
"""Seconds after which an engine counts as hanging that evaluates, or saves its weights."""


class VllmGroup(RemoteGroup):
    """Engines of vLLM; the first of each GPU are numbered first.

    They start one after another on each GPU, because vLLM measures free memory as it starts, and after the very first
    one, which compiles for all. `mps` ends with them.
    """

    is_captured = False

    def __init__(
        self,
        plan: BatchPlan,
        starter: EngineStarter,
        setup: EngineSetup,
        count: int,
        tokenizer: Any,
        ends: Set[int],
        mps: MpsDaemon | None,
    ) -> None:
        super().__init__(plan, starter, setup, count)
        self._tokenizer, self._ends, self._mps = tokenizer, ends, mps
        self._first_start = threading.Event()
        self._locks = [threading.Lock() for _ in starter.places]

    @contextmanager
    def start_turn(self, number: int) -> Iterator[None]:
        """Wait until engines that must start before this one have started, well or not."""
        if number:
            self._first_start.wait()
        try:
            with self._locks[number % len(self._locks)]:
                yield
        finally:
            self._first_start.set()

    def close(self) -> None:
        # Engines that wait for their turn end too.
        self._first_start.set()
        super().close()
        if self._mps is not None:
            self._mps.stop()

    def greedy(self, prompts: Sequence[Sequence[int]], max_new_tokens: int) -> list[Completion]:
        """Return the likeliest response of the centre, token by token, to each prompt."""
        return self._generate(prompts, Decoding(max_new_tokens))

    def sample(
        self, prompts: Sequence[Sequence[int]], max_new_tokens: int, temperature: float, seed: int
    ) -> list[Completion]:
        """Return responses of the centre, sampled; the samples depend on the seed and the prompt's position alone."""
        return self._generate(prompts, Decoding(max_new_tokens, temperature, seed))

    def save(self, folder: Path, what: Any) -> None:
        """Let an engine write its weights, or its master, into a folder. what: as in `Saving`."""
        saving = Saving(str(folder.resolve()), what)
        self.request(lambda process: process.save(saving, lambda: REQUEST_SECONDS))

    def scores(self, prompts: Sequence[Sequence[int]]) -> list[dict[int, float]]:
        """Return for each prompt the likeliest next tokens, with the natural logarithms of their probabilities."""
        scores: list[dict[int, float]] = self.request(
            lambda process: process.scores(lambda: REQUEST_SECONDS), list(prompts)
        )
        return scores

    def _generate(self, prompts: Sequence[Sequence[int]], decoding: Decoding) -> list[Completion]:
        answers: list[Completion] = self.request(
            lambda process: process.generate(decoding, lambda: REQUEST_SECONDS), list(prompts)
        )
        return self._with_texts(answers)

    def _batches(self, iteration: Iteration, remaining: int) -> Iterator[BatchAnswers]:
        for answered in super()._batches(iteration, remaining):
            yield replace(answered, answers=[self._with_texts(of_member) for of_member in answered.answers])

    def _with_texts(self, answers: Sequence[Completion]) -> list[Completion]:
        return decode_texts(self._tokenizer, self._ends, [answer.tokens for answer in answers])
