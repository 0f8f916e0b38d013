"""The memory that a run with GPUs would take on each of them: the plan that its trainer makes, before there is one.

A trainer plans for the card and the prompts that it has. Here both are assumptions, which the caller gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workers.config import EsConfig, GrpoConfig, RunConfig
from workers.memory_plan import (
    GB,
    CardPlan,
    ModelSizes,
    describe_batches,
    evaluation_bytes,
    find_remedies,
    plan_grpo,
    plan_run,
    with_remedies,
)
from workers.memory_plan import vllm as vllm_memory

CARDS_GB = (24, 40, 80, 141)
PROMPT_TOKENS = 512
"""Assumed tokens of the longest prompt: only a trainer reads the task's prompts."""
PROMPTS = 2048
"""Assumed prompts of an iteration if es.prompts selects all of them."""
MAX_SIZE = 10**7
"""Maximum of a model's layers, heads, hidden size and vocabulary."""


def share_cards(config: RunConfig) -> tuple[int, int]:
    """Return the engines of a run with GPUs, and how many of them share each GPU, over all nodes."""
    gpus = max(config.compute.nodes * config.compute.devices, 1)
    engines = config.es_section().engines or gpus
    return engines, -(-engines // gpus)


def usable_bytes(config: RunConfig, card: int) -> int:
    """Return the bytes of a card of `card` bytes for which the run is planned: its fraction. With auto they are all, so
    that it computes as it would alone."""
    share = config.compute.gpu_share
    return card if share is None else int(share * card)


def prompts_of(es: EsConfig) -> int:
    """Return the prompts of an iteration; an assumption if the config selects all prompts of the task."""
    return es.prompts or PROMPTS


def plan_card(model: ModelSizes, config: RunConfig, gb: float) -> CardPlan:
    """Return the plan of a run of es.backend native for a card of `gb` · 10⁹ bytes. All sizes are those of the card,
    and `rows` and `weight_sets` those of each engine on it."""
    es, (engines, on_card), card = config.es_section(), share_cards(config), int(gb * GB)
    evaluation = evaluation_bytes(
        model, config.evaluation, longest_prompt=PROMPT_TOKENS, max_new_tokens=es.max_new_tokens
    )  # fmt: skip
    each = plan_run(
        model, es, prompts=prompts_of(es), longest_prompt=PROMPT_TOKENS, card=usable_bytes(config, card) // on_card,
        engines=engines, evaluation=evaluation,
    )  # fmt: skip
    parts = {part: on_card * size for part, size in each.parts.items()}
    plan = replace(each, card=card, usable=on_card * each.usable, parts=parts, engines=on_card)
    return replace(plan, summary=describe_batches(plan)) if plan.fits else plan


def plan_vllm_card(model: ModelSizes, config: RunConfig, gb: float) -> CardPlan:
    """Return the plan of a run of es.backend vllm for a card of `gb` · 10⁹ bytes."""
    es, evaluation = config.es_section(), config.evaluation
    groups = max(1, config.compute.nodes * (config.compute.devices // es.vllm.tensor_parallel))
    answered = es.rows or max(prompts_of(es), evaluation.prompts * max(1, evaluation.samples))
    tokens = PROMPT_TOKENS + max(es.max_new_tokens, evaluation.max_new_tokens)
    sizes = vllm_memory.Sizes(model.weight_bytes, 4 * model.parameters, model.token_bytes, model.vocabulary)
    return vllm_memory.plan_memory(
        sizes, es, card=int(gb * GB), per_gpu=-(-es.engines // groups), prompts=answered,
        context_tokens=tokens,
    )  # fmt: skip


def plan_grpo_card(model: ModelSizes, config: RunConfig, gb: float) -> CardPlan:
    """Return the plan of a run of method grpo for a card of `gb` · 10⁹ bytes, each process on one, over all nodes."""
    grpo, evaluation = grpo_section(config), config.evaluation
    world, card = config.processes, int(gb * GB)
    own = usable_bytes(config, card)
    plan = plan_grpo(model, grpo, evaluation, world=world, per_gpu_card=own, prompt_tokens=PROMPT_TOKENS)
    if not plan.fits:
        remedies = find_remedies(
            model, grpo, evaluation, world=world, per_gpu_card=own, prompt_tokens=PROMPT_TOKENS
        )  # fmt: skip
        plan = with_remedies(plan, remedies)
    return replace(plan, card=card)


PLANNERS: Mapping[str, Callable[[ModelSizes, RunConfig, float], CardPlan]] = {
    "native": plan_card,
    "vllm": plan_vllm_card,
    "grpo": plan_grpo_card,
}
"""Value of es.backend, or another method -> planner of a run for a card of so many GB."""


def planner_name(config: RunConfig) -> str:
    """Return what PLANNERS calls the planner of a training run. Without one, memory is planned when the run starts."""
    return config.es.backend if config.es is not None else config.method


def grpo_section(config: RunConfig) -> GrpoConfig:
    """Return the grpo section, which a run of method grpo has. Raise ValueError without."""
    if config.grpo is None:
        raise ValueError("the config has no grpo section")
    return config.grpo


def read_sizes(config_json: Mapping[str, Any], config: RunConfig) -> ModelSizes:
    """Return the sizes that a model's config.json states, on a GPU. Raise KeyError if one is missing, and ValueError if
    they are implausible."""
    try:
        sizes = ModelSizes.from_config(config_json, 4 if config.model.dtype == "float32" else 2)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ValueError("config.json states invalid sizes") from error
    numbers = (sizes.layers, sizes.hidden, sizes.inner, sizes.heads, sizes.kv_heads, sizes.head_dim, sizes.vocabulary)
    if not all(1 <= number <= MAX_SIZE for number in numbers):
        raise ValueError("config.json states invalid sizes")
    return sizes
