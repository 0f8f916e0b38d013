"""JSON schemas of the GPU memory plan of a run."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Output, Word, is_unstorable
from runs.launching.gpu_memory.labels import describe_reason, describe_remedy
from runs.launching.gpu_memory.plan import GpuMemory
from workers.memory_plan import CardPlan, Remedy, share_of_card


class RunToPlan(Input):
    """A run to plan: `config` is merged over the preset's, and holds only values that differ from the defaults."""

    preset: Word = ""
    config: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> RunToPlan:
        if is_unstorable(self.config):
            raise ValueError("config must contain no NUL characters and no unpaired surrogates")
        return self


class PartsOut(Schema):
    """GB (10⁹ bytes) by part: float32 master, weights that answer, base model for the KL, further copies of the
    weights, noise of the members, keys and values, workspace, evaluation."""

    master: float
    working: float
    reference: float
    copies: float
    factors: float
    cache: float
    workspace: float
    evaluation: float


class CardOut(Output):
    """The part of a plan that all ES back ends state, for a card of `card_gb`."""

    card_gb: int
    engines: int
    fits: bool
    reason: str
    needed_gb: float
    usable_gb: float


class CardPlanOut(CardOut):
    """The plan of a card of `card_gb`, which `engines` share. If the run does not fit, `reason` is why, and the plan
    is the smallest. Per engine, `members` answer in one batch, and `rows` answers are generated concurrently, equally
    many with each of `weight_sets`. All GB are those of the card. `auto_share` is the share of it that
    `compute.gpus: auto` takes."""

    auto_share: float
    members: int
    weight_sets: int
    rows: int
    parts_gb: PartsOut

    @staticmethod
    def resolve_auto_share(card: CardPlan) -> float:
        return share_of_card(card)


class VllmCardOut(CardOut):
    """The plan of vLLM's engines on a card of `card_gb`; `engines` share it. If none fits, `reason` is why, and
    `needed_gb` is the least. `rows` answers are generated concurrently by each."""

    rows: int
    master_on_host: bool
    with_kl: bool


class GrpoPartsOut(Schema):
    """GB (10⁹ bytes) by part, of which not all are held at the same time: trained float32 weights or adapter, weights
    that are not trained, gradients, optimizer, TRL's reference model; of an update, weights cast by autocast, shards
    gathered by fsdp, activations, LM head; of a generation, weights cast or gathered, keys and values, logits, vLLM;
    of an evaluation, copies of the weights, everything else; of a checkpoint, weights merged or gathered; workspace."""

    master: float
    frozen: float
    gradients: float
    optimizer: float
    reference: float
    casts: float
    gathered: float
    activations: float
    head: float
    generating: float
    cache: float
    sampling: float
    vllm: float
    centre: float
    evaluation: float
    saving: float
    workspace: float


class PhasesOut(Schema):
    """Peaks of the phases in GB. The evaluation is on the first process only, which is the one that is planned."""

    generation: float
    update: float
    evaluation: float
    checkpoint: float


class RemedyOut(Output):
    """A change with which the run fits, as an imperative, and the GB that it then needs."""

    sentence: str
    needed_gb: float = Field(validation_alias="plan.needed_gb")

    @staticmethod
    def resolve_sentence(remedy: Remedy) -> str:
        return describe_remedy(remedy)


class GrpoCardOut(Output):
    """The plan of a process of a GRPO run on a card of `card_gb`, one of `processes`. If the run does not fit, `reason`
    is why, and `remedies` are the changes with which it does; none if the model is too large for the card. `auto_share`
    is the share of the card that `compute.gpus: auto` takes."""

    card_gb: int
    processes: int
    fits: bool
    reason: str
    needed_gb: float
    usable_gb: float
    auto_share: float
    parts_gb: GrpoPartsOut
    phases_gb: PhasesOut
    remedies: list[RemedyOut]

    @staticmethod
    def resolve_auto_share(card: CardPlan) -> float:
        return share_of_card(card)

    @staticmethod
    def resolve_reason(card: CardPlan) -> str:
        return describe_reason(card)


class GpuMemoryOut(Output):
    """Plans for cards of several sizes, or the `reason` why there are none: `cards` with es.backend native,
    `vllm_cards` with vllm, `grpo_cards` with method grpo. `gpu_share` is the share of each GPU that the run requests,
    null for auto; one that requests a fraction may use that part of each card. `prompt_tokens`, of the longest prompt,
    are assumed. `prompts`, of an iteration, are assumed only if `prompts_assumed`; with grpo, they are those of one
    batch."""

    reason: str
    gpu_share: float | None
    prompt_tokens: int
    prompts: int
    prompts_assumed: bool
    cards: list[CardPlanOut]
    vllm_cards: list[VllmCardOut]
    grpo_cards: list[GrpoCardOut]

    @classmethod
    def from_memory(cls, memory: GpuMemory) -> GpuMemoryOut:
        """Return the plans as JSON."""

        def planned_by(planner: str) -> tuple[CardPlan, ...]:
            return memory.cards if memory.planner == planner else ()

        return cls.from_row(
            memory, cards=planned_by("native"), vllm_cards=planned_by("vllm"), grpo_cards=planned_by("grpo")
        )
