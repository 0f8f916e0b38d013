"""A population of the micro model to ask, in one batch or written out one by one."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from workers import tasks
from workers.config import EsConfig, TaskConfig
from workers.engines.es.noise import Noise
from workers.engines.es.perturbation import Perturbation, scales_of
from workers.engines.es.population import Population
from workers.engines.es.trained import Trained, trained
from workers.models import Loaded, chat_text
from workers.models.decoder import Decoder

SIGMA = 0.05
TOKENS = 12


def own_copy(micro: Loaded) -> Loaded:
    """The micro model again, to be changed at will."""
    return replace(micro, model=copy.deepcopy(micro.model))


def population_of(micro: Loaded, **options: Any) -> tuple[Population, Trained, Perturbation]:
    """A population that trains a copy of the model with these ES options."""
    es = EsConfig(**({"sigma": SIGMA, "max_new_tokens": TOKENS, "population": 8} | options))
    loaded = own_copy(micro)
    what = trained(loaded, es.lora, 0)
    perturbation = Perturbation(Noise(es.noise, es.rank), es.sigma, scales_of(what.master, es.layer_scale))
    decoder = Decoder(loaded.model, loaded.tokenizer, es.rows)
    return Population(what, perturbation, decoder, es), what, perturbation


def prompts_of(micro: Loaded, count: int) -> list[str]:
    """Chat-templated training prompts."""
    examples = tasks.make(TaskConfig()).examples("train")[:count]
    return [chat_text(micro.tokenizer, example.messages) for example in examples]


def texts(population: Population, seeds: Sequence[int], prompts: Sequence[str]) -> list[list[str]]:
    """All members' answers [member][prompt]."""
    return [[a.text for a in member] for batch in population.answers(seeds, prompts) for member in batch]


def digest(model: torch.nn.Module) -> str:
    """SHA-256 over every parameter's bytes."""
    total = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        total.update(name.encode() + parameter.detach().numpy().tobytes())
    return total.hexdigest()
