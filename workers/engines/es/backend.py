"""The population back end: weights that answer as members, are updated, saved and loaded, by seeds and coefficients.

Every engine of a run has one. It needs nothing but the base model and (seed, coefficient) pairs to hold the same bits
as the others. `native` and `transformers` are `DecoderBackEnd`s: they differ in who decodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from workers.config import ConfigError, EsConfig, Problem
from workers.engines.context import Context
from workers.engines.es.anchor import anchor_distance, pull_to_anchor
from workers.engines.es.batches import BatchPlan
from workers.engines.es.captured_plan import uses_captured_steps
from workers.engines.es.member_memory import MemberMemory
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.phases import Phases
from workers.engines.es.trainable import TrainableWeights
from workers.engines.es.weights_hash import hash_tensors
from workers.evaluation import EvaluationDecoder
from workers.models import Loaded
from workers.models.decoder import Completion, Decoder, Prompt, evaluating_decoder


class PopulationBackEnd(Protocol):
    """Weights of one engine: a float32 master, and the members that seeds make of it."""

    phases: Phases
    """The seconds that answers and updates take, by phase."""

    def answer(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> list[list[Completion]]:
        """Return the greedy answers [member][prompt] of the members of these seeds, as one batch."""

    def answer_each(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> Iterator[list[list[Completion]]]:
        """Yield the answers of the same members in their order, some members at a time, as soon as they are there."""

    def answer_centre(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return the greedy answers of the weights that no noise perturbs."""

    def update(self, directions: Mapping[int, float], decay: float = 0.0) -> float:
        """Add Σ coefficient · noise over seed -> coefficient, in their order. Return the norm of this step.

        Then subtract decay · (θ − θ₀), which needs weights that hold θ₀.
        """

    def weights_hash(self) -> str:
        """Return a hash of all weights: equal on engines that hold equal bits."""

    def save(self, folder: Path) -> None:
        """Add the master to a checkpoint's folder, if the folder's own weights are not the master."""

    def load(self, folder: Path) -> None:
        """Take the master from a checkpoint's folder. Raise NotResumable."""


class RunWeights(Protocol):
    """The weights of a run as its training process uses them, whoever holds them."""

    @property
    def model(self) -> Any:
        """Return the model that holds the centre, for evaluations; None if they measure no KL."""

    @property
    def decoder(self) -> EvaluationDecoder | None:
        """Return what answers evaluations, if it is not the evaluator's choice."""

    @property
    def checkpoint_model(self) -> Any:
        """Return what has `save_pretrained` for the weights of the centre."""

    def save(self, folder: Path) -> None:
        """Add the master to a checkpoint's folder, if the folder's own weights are not the master."""

    def restore_centre(self) -> None:
        """Write the centre back after work that was cut short."""

    def check(self, context: Context) -> None:
        """Compare engines that were started with transformers. Raise ConfigError if their logits differ."""

    def anchor_distance(self) -> float | None:
        """Return ‖θ − θ₀‖, or None if θ₀ is not held."""


class DecoderBackEnd:
    """Members answer by the project's decoder, several in a batch; or by transformers, one after another.

    The model holds the centre again after every batch. `rows` answers are written at once.
    """

    def __init__(
        self, loaded: Loaded, trained: TrainableWeights, perturbation: Perturbation, es: EsConfig, rows: int
    ) -> None:
        self.trained = trained
        self.perturbation = perturbation
        self._max_new_tokens = es.max_new_tokens
        self.phases = Phases(loaded.device)
        self._measure = self.phases.measure
        by_transformers = es.backend == "transformers"
        self._decoder = Decoder(
            loaded.model, loaded.tokenizer, rows, by_transformers=by_transformers, measure=self._measure
        )

    @property
    def model(self) -> Any:
        """Return the model that holds the centre."""
        return self.trained.model

    @property
    def checkpoint_model(self) -> Any:
        """Return the model, which holds the weights of a checkpoint."""
        return self.trained.model

    @cached_property
    def decoder(self) -> EvaluationDecoder:
        """Return what answers evaluations with the model's weights, as in any other run."""
        return evaluating_decoder(self.model, self._decoder.tokenizer)

    def answer(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> list[list[Completion]]:
        if len(seeds) == 1:
            return [self._answer_alone(seeds[0], prompts)]
        with self._measure("noise"):
            weights = self.trained.members(seeds, self.perturbation, self._decoder.known_shape())
        return self._decoder.population(weights, prompts, self._max_new_tokens)

    def answer_each(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> Iterator[list[list[Completion]]]:
        yield self.answer(seeds, prompts)

    def answer_centre(self, prompts: Sequence[Prompt]) -> list[Completion]:
        return self._decoder.greedy(prompts, self._max_new_tokens)

    def update(self, directions: Mapping[int, float], decay: float = 0.0) -> float:
        with self._measure("update"):
            norm = self.perturbation.step(directions, self.trained.master)
            if decay:
                pull_to_anchor(self.trained.master, self.trained.anchor, decay)
            self.restore_centre()
        return norm

    def anchor_distance(self) -> float | None:
        """Return ‖θ − θ₀‖, or None if θ₀ is not held."""
        return anchor_distance(self.trained.master, self.trained.anchor) if self.trained.anchor else None

    def weights_hash(self) -> str:
        return hash_tensors({**self.trained.master, **dict(self.model.named_parameters(prefix="model"))})

    def save(self, folder: Path) -> None:
        self.trained.save(folder)

    def check(self, context: Context) -> None:
        """Do nothing: what decodes here was compared before it started."""

    def load(self, folder: Path) -> None:
        self.trained.load(folder)

    def restore_centre(self) -> None:
        """Write cast(master) into the model."""
        self.trained.write(self.trained.master.__getitem__)

    @contextmanager
    def writing_member(self, seed: int) -> Iterator[None]:
        """Write cast(master + σ ε) into the model itself, and the centre back at the end of the block."""
        try:
            with self._measure("noise"):
                self._write_into_model(seed)
            yield
        finally:
            with self._measure("noise"):
                self.restore_centre()

    def _write_into_model(self, seed: int) -> None:
        self.trained.write_member(seed, self.perturbation)

    def _answer_alone(self, seed: int, prompts: Sequence[Prompt]) -> list[Completion]:
        with self.writing_member(seed):
            return self._decoder.greedy(prompts, self._max_new_tokens)


def make_backend(
    loaded: Loaded, trained: TrainableWeights, es: EsConfig, scales: Mapping[str, float], plan: BatchPlan
) -> DecoderBackEnd:
    """Return the back end that es.backend names. Raise ConfigError if this device is too small for such batches."""
    perturbation = Perturbation.from_config(es, scales)
    if es.backend == "adapter_server":
        # It derives from DecoderBackEnd, so that this module cannot import it at its top.
        from workers.engines.es.adapter_server import AdapterServerBackEnd

        return AdapterServerBackEnd(loaded, trained, perturbation, es, plan.rows)
    if uses_captured_steps(loaded, es):
        # Needs Triton, which comes with torch for GPUs and with no other.
        from workers.engines.es.captured_backend import CapturedBackEnd

        return CapturedBackEnd(loaded, trained, perturbation, es, plan)
    if reason := MemberMemory.measure(loaded, trained, perturbation, es).refusal(plan.members):
        raise ConfigError([Problem("es.rows", f"is {plan.rows} in this run, and {reason}; use a larger device")])
    return DecoderBackEnd(loaded, trained, perturbation, es, plan.rows)
