"""A population of the micro model, answered in one batch or written out member by member."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from workers import tasks
from workers.config import EsConfig, TaskConfig
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.batches import BatchPlan, choose_rows
from workers.engines.es.member_memory import MemberMemory
from workers.engines.es.perturbation import Perturbation, scales_of
from workers.engines.es.trainable import TrainableWeights, make_trainable
from workers.models import Loaded, chat_text
from workers.models.decoder import Completion

SIGMA = 0.05
TOKENS = 12


def own_copy(micro: Loaded) -> Loaded:
    """Return a copy of the micro model that a test may change."""
    return replace(micro, model=copy.deepcopy(micro.model))


class Population:
    """A back end, and the plan by which its populations are cut."""

    def __init__(self, loaded: Loaded, weights: TrainableWeights, perturbation: Perturbation, es: EsConfig) -> None:
        self._memory = MemberMemory.measure(loaded, weights, perturbation, es)
        self._loaded, self._trained, self._perturbation, self._es = loaded, weights, perturbation, es

    def answers(self, seeds: Sequence[int], prompts: Sequence[Any]) -> Iterator[list[list[Completion]]]:
        """Yield the answers [member][prompt] of each batch."""
        rows = choose_rows(self._es, len(prompts), self._memory.fitting(), "cpu", 0)
        self.backend = DecoderBackEnd(self._loaded, self._trained, self._perturbation, self._es, rows)
        for batch in BatchPlan.of_rows(rows, len(prompts)).cut(seeds):
            yield self.backend.answer(batch.seeds, prompts)


def population_of(micro: Loaded, **options: Any) -> tuple[Population, TrainableWeights, Perturbation]:
    """Return a population that trains a copy of the model with these ES options."""
    es = EsConfig(**({"sigma": SIGMA, "max_new_tokens": TOKENS, "population": 8} | options))
    loaded = own_copy(micro)
    trained_weights = make_trainable(loaded, es.lora, 0)
    perturbation = Perturbation.from_config(es, scales_of(trained_weights.master, es.layer_scale))
    return Population(loaded, trained_weights, perturbation, es), trained_weights, perturbation


def prompts_of(micro: Loaded, count: int) -> list[str]:
    """Return chat-templated training prompts."""
    examples = tasks.make(TaskConfig()).examples("train")[:count]
    return [chat_text(micro.tokenizer, example.messages) for example in examples]


def texts(population: Population, seeds: Sequence[int], prompts: Sequence[str]) -> list[list[str]]:
    """Return all members' answers [member][prompt]."""
    return [[a.text for a in member] for batch in population.answers(seeds, prompts) for member in batch]


def digest(model: torch.nn.Module) -> str:
    """Return the SHA-256 over every parameter's bytes."""
    total = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        total.update(name.encode() + parameter.detach().numpy().tobytes())
    return total.hexdigest()
