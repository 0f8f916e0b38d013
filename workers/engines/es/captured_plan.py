"""Decides if a run answers by captured steps on this machine's GPU, and plans its batches and their memory."""

from __future__ import annotations

from dataclasses import replace

import torch

from workers.config import ConfigError, EsConfig, EvaluationConfig, Problem
from workers.config.run import ComputeConfig
from workers.engines.es.batches import BatchPlan
from workers.memory_plan import (
    GB,
    CardPlan,
    ModelSizes,
    claimed_bytes,
    describe_plan,
    evaluation_bytes,
    plan_run,
    share_of_card,
)
from workers.memory_plan.limit import memory_limit
from workers.models import Loaded
from workers.models.decoder import has_captured_steps


def uses_captured_steps(loaded: Loaded, es: EsConfig) -> bool:
    """Return whether members answer by captured steps: by the native decoder, on a GPU with Triton."""
    return es.backend == "native" and has_captured_steps(loaded.model)


def plan_on_card(
    loaded: Loaded,
    es: EsConfig,
    compute: ComputeConfig,
    *,
    prompts: int,
    longest_prompt: int,
    engines: int = 1,
    sharing: int = 1,
    rows: int = 0,
    evaluation: EvaluationConfig | None = None,
) -> CardPlan:
    """Return the plan of each engine of a run on GPUs like this one, each of which `sharing` engines share.

    A run with a fraction of a GPU is planned for that. One with auto is planned for a whole GPU, so that it computes
    as it does alone, and is refused if the plan exceeds what its site planned. `rows` are those that the run has used
    so far. Raise ConfigError if it does not fit.
    """
    sizes = ModelSizes.from_config(loaded.model.config.to_dict(), loaded.dtype.itemsize)
    evaluated = 0
    if evaluation is not None:
        evaluated = evaluation_bytes(
            sizes, evaluation, longest_prompt=longest_prompt, max_new_tokens=es.max_new_tokens
        )  # fmt: skip
    card, share = _card(loaded), compute.gpu_share or 1
    plan = plan_run(
        sizes, es, prompts=prompts, longest_prompt=longest_prompt, card=int(share * card) // sharing, engines=engines,
        rows=rows, evaluation=evaluated,
    )  # fmt: skip
    check_share(plan, compute, card, sharing)
    if not plan.fits:
        raise ConfigError([Problem("es", plan.reason)])
    return plan


def check_share(plan: CardPlan, compute: ComputeConfig, card: int, engines: int = 1) -> None:
    """Check that `engines` equal engines fit into the run's part of a GPU of `card` bytes.

    Raise ConfigError with the values of compute.gpus that are enough, if a part of the GPU or all of it is.
    """
    limit = memory_limit(compute, card)
    parts = {name: engines * size for name, size in plan.parts.items()}
    on_card = replace(plan, card=card, parts=parts, engines=engines)
    claimed = claimed_bytes(on_card)
    if limit is None or (plan.fits and claimed <= limit) or claimed > card:
        return
    enough = share_of_card(on_card)
    values = "to 1" if enough == 1 else f"to {enough:g} or more, or to 1"
    had = f"is {compute.gpus}, which gives the run {limit / GB:.1f} GB of the {card / GB:.0f} GB of its GPU"
    needs = f"it needs {claimed / GB:.1f} GB with the memory of CUDA itself"
    raise ConfigError([Problem("compute.gpus", f"{had}; {needs}. Set it {values} ({describe_plan(plan)})")])


def batches_of(plan: CardPlan) -> BatchPlan:
    """Return how the plan cuts a population."""
    return BatchPlan(plan.rows, plan.members, plan.weight_sets, plan.columns)


def _card(loaded: Loaded) -> int:
    return int(torch.cuda.get_device_properties(loaded.device).total_memory)
