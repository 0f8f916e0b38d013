"""Whether and how a run answers by captured steps on this machine's GPU: its batches, and the memory they take."""

from __future__ import annotations

from importlib.util import find_spec

import torch

from workers.config import ConfigError, EsConfig, Problem
from workers.engines.es.batches import BatchPlan
from workers.memory_plan import CardTooSmall, MemoryPlan, ModelSizes, batch_members, plan_memory, plan_new_run
from workers.models import Loaded
from workers.models.decoder import Decoder


def uses_captured_steps(loaded: Loaded, es: EsConfig) -> bool:
    """Return whether members answer by captured steps: by the native decoder, on a GPU with Triton."""
    # Triton comes with torch for GPUs, and with no other.
    if loaded.device.type != "cuda" or es.backend != "native" or find_spec("triton") is None:
        return False
    return Decoder(loaded.model, loaded.tokenizer).shape is not None


def cut_for_gpus(
    loaded: Loaded, es: EsConfig, rows: int, prompts: int, longest_prompt: int, engines: int, gpus: int
) -> BatchPlan:
    """Return how a population is cut: each engine's share is one batch, or, without es.refill, what the rows hold."""
    sharing = -(-engines // gpus)
    card = _card(loaded) // sharing
    members = batch_members(_sizes(loaded), es, rows=rows, prompts=prompts, card=card, engines=engines)
    return BatchPlan(rows, members, longest_prompt, sharing)


def choose_rows_on_card(
    loaded: Loaded, es: EsConfig, prompts: int, longest_prompt: int, engines: int, gpus: int
) -> int:
    """Return the answers at once of each engine of a new run on GPUs like this one. Raise ConfigError if none fit."""
    card = _card(loaded) // -(-engines // gpus)
    try:
        plan = plan_new_run(
            _sizes(loaded), es, prompts=prompts, longest_prompt=longest_prompt, card=card, engines=engines
        )  # fmt: skip
    except CardTooSmall as error:
        raise ConfigError([Problem("es", str(error))]) from error
    return plan.rows


def plan_on_card(
    loaded: Loaded, es: EsConfig, plan: BatchPlan, prompts: int = 0, *, evaluates: bool = True
) -> MemoryPlan:
    """Return the memory of an engine in its share of this GPU. Rows are chosen if the plan has none.

    Raise ConfigError if it does not fit.
    """
    try:
        return plan_memory(
            _sizes(loaded), es, prompts=prompts, longest_prompt=plan.longest_prompt, card=_card(loaded) // plan.sharing,
            members=plan.members, rows=plan.rows, evaluates=evaluates,
        )  # fmt: skip
    except CardTooSmall as error:
        raise ConfigError([Problem("es", str(error))]) from error


def _sizes(loaded: Loaded) -> ModelSizes:
    return ModelSizes.of_config(loaded.model.config.to_dict(), loaded.dtype.itemsize)


def _card(loaded: Loaded) -> int:
    return int(torch.cuda.get_device_properties(loaded.device).total_memory)
