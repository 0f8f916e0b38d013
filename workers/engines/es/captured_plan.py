"""Decides if a run answers by captured steps on this machine's GPU, and plans its batches and their memory."""

from __future__ import annotations

from importlib.util import find_spec

import torch

from workers.config import ConfigError, EsConfig, EvaluationConfig, Problem
from workers.engines.es.batches import BatchPlan
from workers.memory_plan import CardPlan, ModelSizes, evaluation_bytes, plan_run
from workers.models import Loaded
from workers.models.decoder import Decoder


def uses_captured_steps(loaded: Loaded, es: EsConfig) -> bool:
    """Return whether members answer by captured steps: by the native decoder, on a GPU with Triton."""
    # Triton comes with torch for GPUs, and with no other.
    if loaded.device.type != "cuda" or es.backend != "native" or find_spec("triton") is None:
        return False
    return Decoder(loaded.model, loaded.tokenizer).shape is not None


def plan_on_card(
    loaded: Loaded,
    es: EsConfig,
    *,
    prompts: int,
    longest_prompt: int,
    engines: int = 1,
    sharing: int = 1,
    rows: int = 0,
    evaluation: EvaluationConfig | None = None,
) -> CardPlan:
    """Return the plan of each engine of a run on GPUs like this one, each of which `sharing` engines share.

    `rows` are those that the run has used so far. Raise ConfigError if it does not fit.
    """
    sizes = ModelSizes.from_config(loaded.model.config.to_dict(), loaded.dtype.itemsize)
    evaluated = 0
    if evaluation is not None:
        evaluated = evaluation_bytes(
            sizes, evaluation, longest_prompt=longest_prompt, max_new_tokens=es.max_new_tokens
        )  # fmt: skip
    plan = plan_run(
        sizes, es, prompts=prompts, longest_prompt=longest_prompt, card=_card(loaded) // sharing, engines=engines,
        rows=rows, evaluation=evaluated,
    )  # fmt: skip
    if not plan.fits:
        raise ConfigError([Problem("es", plan.reason)])
    return plan


def batches_of(plan: CardPlan) -> BatchPlan:
    """Return how the plan cuts a population."""
    return BatchPlan(plan.rows, plan.members, plan.weight_sets, plan.columns)


def _card(loaded: Loaded) -> int:
    return int(torch.cuda.get_device_properties(loaded.device).total_memory)
