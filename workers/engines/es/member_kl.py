"""The penalty for leaving the base model: a member's fitness less β times KL(member ‖ base model), in nats.

The KL is exact over the vocabulary at each token (`workers.evaluation.kl`), summed over the tokens of a response and
averaged over the iteration's prompts. The responses are the member's own greedy ones: nothing is sampled, so that the
penalty has no noise of its own; nor is it an estimate of the KL under the member's samples.

Engine 0 computes it for all members. It writes one after another into the model and reads its responses with both
models, which costs about as much as reading so many prompts, and the memory of a second copy of the base model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from workers.engines.context import Context
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.fitness import Fitness, average, drops_members
from workers.evaluation.kl import kl_per_token
from workers.models.decoder import Completion
from workers.tasks import Example


class KlNotFinite(RuntimeError):
    """The KL of a member from the base model is no finite number. The message names the member and the prompt."""


class KlPenalty:
    """β · KL(member ‖ `base`) of each member. `seconds` is the time that the last iteration's took."""

    def __init__(self, context: Context, backend: DecoderBackEnd, base: nn.Module, beta: float) -> None:
        self.seconds = 0.0
        self._context = context
        self._backend = backend
        self._base = base
        self._beta = beta

    def subtract(
        self,
        step: int,
        seeds: Sequence[int],
        examples: Sequence[Example],
        answers: Sequence[Sequence[Completion]],
        fitness: Sequence[Fitness],
    ) -> list[Fitness]:
        """Return the fitness of the members less their penalty. answers: [member][example]. Dropped members stay so.

        Raise KlNotFinite, unless the config drops such members. A request to stop raises Interrupted, and may leave a
        member in the model.
        """
        began = time.perf_counter()
        prompts = [self._context.prompts.ids(example.messages) for example in examples]
        with self._context.stop.interruptible():
            kls = [
                [] if f.dropped else self._response_kls(seed, prompts, of_member)
                for seed, of_member, f in zip(seeds, answers, fitness, strict=True)
            ]
        self.seconds = time.perf_counter() - began
        return [
            f if f.dropped else self._penalise(step, seed, examples, of_member, f)
            for seed, of_member, f in zip(seeds, kls, fitness, strict=True)
        ]

    def _response_kls(self, seed: int, prompts: Sequence[Sequence[int]], answers: Sequence[Completion]) -> list[float]:
        """Return the KL of each response of a member, in nats."""
        backend = self._backend
        with backend.writing_member(seed):
            kls = kl_per_token(backend.model, self._base, prompts, [answer.tokens for answer in answers])
        return [float(kl.exact.sum()) for kl in kls]

    def _penalise(
        self, step: int, seed: int, examples: Sequence[Example], kls: Sequence[float], fitness: Fitness
    ) -> Fitness:
        for example, kl in zip(examples, kls, strict=True):
            if not math.isfinite(kl):
                return self._fail(step, f"the KL of member {seed} from the base model is {kl} at prompt {example.id}")
        mean = average(kls)
        parts = {"reward": fitness.reward} | fitness.parts | {"kl": mean}
        return replace(fitness, reward=fitness.reward - self._beta * mean, parts=parts, kl=mean)

    def _fail(self, step: int, reason: str) -> Fitness:
        """Return the fitness of a dropped member, and record why. Raise KlNotFinite if the config drops none."""
        if not drops_members(self._context):
            raise KlNotFinite(
                f"{reason}: its logits overflow. Choose a smaller es.sigma, float32 for model.dtype or 0 for "
                "es.kl_beta, or leave such members out with es.on_failure drop_member"
            )
        self._context.alert("warning", f"{reason}, so it is left out of the update", step)
        return Fitness(math.nan, {})
