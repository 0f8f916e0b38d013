"""The memory that a run with GPUs would take on each of them: the plan that its trainer makes, before there is one.

A trainer plans for the card and the prompts that it has. Here both are assumptions, which the caller gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workers.config import ConfigError, EsConfig, GrpoConfig, RunConfig
from workers.memory_plan import (
    CardTooSmall,
    GrpoMemory,
    MemoryPlan,
    ModelSizes,
    Remedy,
    describe_plan,
    evaluation_bytes,
    find_remedies,
    plan_grpo,
    plan_run,
)
from workers.memory_plan import vllm as vllm_memory

CARDS_GB = (24, 40, 80, 141)
GB = 10**9
PROMPT_TOKENS = 512
"""Assumed tokens of the longest prompt: only a trainer reads the task's prompts."""
PROMPTS = 2048
"""Assumed prompts of an iteration if es.prompts selects all of them."""
MAX_SIZE = 10**7
"""Maximum of a model's layers, heads, hidden size and vocabulary."""
PARTS = ("master", "working", "reference", "copies", "factors", "cache", "workspace", "evaluation")
"""Fields of `MemoryPlan` that add up to the planned memory."""


@dataclass(frozen=True)
class CardPlan:
    """The plan of each of the `engines` that share a card of `gb` · 10⁹ bytes. `reason`: why the run does not fit; then
    `plan` is the smallest possible one."""

    gb: float
    engines: int
    plan: MemoryPlan
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Return whether the run fits."""
        return not self.reason

    @property
    def needed_gb(self) -> float:
        """Return the planned memory of all engines on the card, in GB."""
        return self.engines * self.plan.planned / GB

    @property
    def usable_gb(self) -> float:
        """Return the GB that a plan may have on this card."""
        return self.engines * self.plan.limit / GB

    @property
    def weight_sets(self) -> int:
        """Return how many sets of weights answer at the same time on the card."""
        return self.engines * self.plan.weight_sets

    @property
    def answers(self) -> int:
        """Return the number of answers that are generated concurrently on the card."""
        return self.engines * self.plan.rows

    @property
    def answers_a_set(self) -> int:
        """Return the number of answers that are generated concurrently with each set of weights."""
        return self.plan.rows // self.plan.weight_sets

    @property
    def parts_gb(self) -> dict[str, float]:
        """Return part -> GB on the card, for each of PARTS."""
        return {part: self.engines * getattr(self.plan, part) / GB for part in PARTS}


@dataclass(frozen=True)
class VllmCardPlan:
    """The plan of vLLM's engines on a card of `gb` · 10⁹ bytes. `reason`: why none fits; then `plan` is None.

    `description` is the plan in a sentence.
    """

    gb: float
    plan: vllm_memory.VllmMemory | None
    needed_gb: float
    usable_gb: float
    description: str = ""
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Return whether the run fits."""
        return not self.reason

    @property
    def engines(self) -> int:
        """Return the number of engines that share the card; 0 if none fits."""
        return self.plan.engines if self.plan is not None else 0


@dataclass(frozen=True)
class GrpoCardPlan:
    """The plan of a process of a GRPO run on a card of `gb` · 10⁹ bytes. If it does not fit, `remedies` are the changes
    with which it does."""

    gb: float
    plan: GrpoMemory
    remedies: Sequence[Remedy] = ()
    engines: int = 1
    """Processes on the card: always one."""

    @property
    def fits(self) -> bool:
        """Return whether the run fits."""
        return self.plan.fits

    @property
    def reason(self) -> str:
        """Return why the run does not fit, with the remedies; empty if it fits."""
        return "" if self.fits else f"it {describe_plan(self.plan, list(self.remedies))}"

    @property
    def needed_gb(self) -> float:
        """Return the memory of the phase that needs most, in GB."""
        return self.plan.needed / GB

    @property
    def usable_gb(self) -> float:
        """Return the GB that a plan may have on this card."""
        return self.plan.limit / GB

    @property
    def parts_gb(self) -> dict[str, float]:
        """Return part -> GB on the card. Not all parts are held at the same time."""
        return {part: size / GB for part, size in asdict(self.plan.parts).items()}

    @property
    def phases_gb(self) -> dict[str, float]:
        """Return phase -> its peak in GB."""
        return {phase: size / GB for phase, size in asdict(self.plan.phases).items()}


def share_cards(config: RunConfig) -> tuple[int, int]:
    """Return the engines of a run with GPUs, and how many of them share each GPU, over all nodes."""
    gpus = max(config.compute.all_gpus, 1)
    engines = config.es_section().engines or gpus
    return engines, -(-engines // gpus)


def prompts_of(es: EsConfig) -> int:
    """Return the prompts of an iteration; an assumption if the config selects all prompts of the task."""
    return es.prompts or PROMPTS


def plan_card(model: ModelSizes, config: RunConfig, gb: float) -> CardPlan:
    """Return the plan of a run of es.backend native for a card of `gb` · 10⁹ bytes."""
    es, (engines, on_card) = config.es_section(), share_cards(config)
    evaluation = evaluation_bytes(
        model, config.evaluation, longest_prompt=PROMPT_TOKENS, max_new_tokens=es.max_new_tokens
    )  # fmt: skip
    try:
        plan = plan_run(
            model, es, prompts=prompts_of(es), longest_prompt=PROMPT_TOKENS, card=int(gb * GB) // on_card,
            engines=engines, evaluation=evaluation,
        )  # fmt: skip
    except CardTooSmall as error:
        return CardPlan(gb, on_card, error.plan, str(error))
    return CardPlan(gb, on_card, plan)


def plan_vllm_card(model: ModelSizes, config: RunConfig, gb: float) -> VllmCardPlan:
    """Return the plan of a run of es.backend vllm for a card of `gb` · 10⁹ bytes."""
    es, evaluation = config.es_section(), config.evaluation
    groups = max(1, config.compute.nodes * (config.compute.gpus // es.vllm.tensor_parallel))
    answered = es.rows or max(prompts_of(es), evaluation.prompts * max(1, evaluation.samples))
    tokens = PROMPT_TOKENS + max(es.max_new_tokens, evaluation.max_new_tokens)
    sizes = _vllm_sizes(model)
    usable = vllm_memory.SHARE * gb
    try:
        plan = vllm_memory.plan_memory(
            sizes, es, card=int(gb * GB), per_gpu=-(-es.engines // groups), prompts=answered, context_tokens=tokens
        )
    except ConfigError as error:
        needed = vllm_memory.least_bytes(sizes, es, -(-es.engines // groups), answered, tokens) / GB
        return VllmCardPlan(gb, None, needed, usable, reason=error.problems[0].message)
    return VllmCardPlan(
        gb, plan, vllm_memory.held_bytes(sizes, es, plan) / GB, usable, plan.describe(es.vllm.tensor_parallel)
    )


def plan_grpo_card(model: ModelSizes, config: RunConfig, gb: float) -> GrpoCardPlan:
    """Return the plan of a run of method grpo for a card of `gb` · 10⁹ bytes, each process on one, over all nodes."""
    grpo, evaluation = grpo_section(config), config.evaluation
    world, card = config.processes, int(gb * GB)
    plan = plan_grpo(model, grpo, evaluation, world=world, per_gpu_card=card, prompt_tokens=PROMPT_TOKENS)
    if plan.fits:
        return GrpoCardPlan(gb, plan)
    remedies = find_remedies(
        model, grpo, evaluation, world=world, per_gpu_card=card, prompt_tokens=PROMPT_TOKENS
    )  # fmt: skip
    return GrpoCardPlan(gb, plan, remedies)


def grpo_section(config: RunConfig) -> GrpoConfig:
    """Return the grpo section, which a run of method grpo has. Raise ValueError without."""
    if config.grpo is None:
        raise ValueError("the config has no grpo section")
    return config.grpo


def read_sizes(config_json: Mapping[str, Any], config: RunConfig) -> ModelSizes:
    """Return the sizes that a model's config.json states, on a GPU. Raise KeyError if one is missing, and ValueError if
    they are implausible."""
    try:
        sizes = ModelSizes.of_config(config_json, 4 if config.model.dtype == "float32" else 2)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ValueError("config.json states invalid sizes") from error
    numbers = (sizes.layers, sizes.hidden, sizes.inner, sizes.heads, sizes.kv_heads, sizes.head_dim, sizes.vocabulary)
    if not all(1 <= number <= MAX_SIZE for number in numbers):
        raise ValueError("config.json states invalid sizes")
    return sizes


def _vllm_sizes(model: ModelSizes) -> vllm_memory.Sizes:
    token = 2 * model.layers * model.kv_heads * model.head_dim * model.number_bytes
    return vllm_memory.Sizes(model.number_bytes * model.parameters, 4 * model.parameters, token, model.vocabulary)
