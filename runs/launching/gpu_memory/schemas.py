"""JSON schemas of the GPU memory plan of a run."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Word, is_unstorable
from runs.launching.gpu_memory.grpo import describe_reason, describe_remedy
from runs.launching.gpu_memory.plan import GpuMemory
from workers.preflight import GB, CardPlan, GrpoCardPlan, VllmCardPlan


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


class CardPlanOut(Schema):
    """The plan of a card of `card_gb`, which `engines` share. If the run does not fit, `reason` is why, and the plan
    is the smallest. Per engine, `members` answer in one batch, and `rows` answers are generated concurrently, equally
    many with each of `weight_sets`. All GB are those of the card."""

    card_gb: int
    engines: int
    fits: bool
    reason: str
    needed_gb: float
    usable_gb: float
    members: int
    weight_sets: int
    rows: int
    parts_gb: PartsOut

    @classmethod
    def from_plan(cls, card: CardPlan) -> CardPlanOut:
        """Return the plan as JSON."""
        return cls(
            card_gb=int(card.gb), engines=card.engines, fits=card.fits, reason=card.reason,
            needed_gb=card.needed_gb, usable_gb=card.usable_gb,
            members=card.plan.members, weight_sets=card.plan.weight_sets, rows=card.plan.rows,
            parts_gb=PartsOut(**card.parts_gb),
        )  # fmt: skip


class VllmCardOut(Schema):
    """The plan of vLLM's engines on a card of `card_gb`; `engines` share it. If none fits, `reason` is why, and
    `needed_gb` is the least. `rows` answers are generated concurrently by each."""

    card_gb: int
    engines: int
    fits: bool
    reason: str
    needed_gb: float
    usable_gb: float
    rows: int
    master_on_host: bool
    with_kl: bool

    @classmethod
    def from_plan(cls, card: VllmCardPlan) -> VllmCardOut:
        """Return the plan as JSON."""
        plan = card.plan
        return cls(
            card_gb=int(card.gb), engines=card.engines, fits=card.fits, reason=card.reason, needed_gb=card.needed_gb,
            usable_gb=card.usable_gb, rows=plan.rows if plan else 0,
            master_on_host=plan is not None and plan.master_on_host, with_kl=plan is not None and plan.with_kl,
        )  # fmt: skip


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


class RemedyOut(Schema):
    """A change with which the run fits, as an imperative, and the GB that it then needs."""

    sentence: str
    needed_gb: float


class GrpoCardOut(Schema):
    """The plan of a process of a GRPO run on a card of `card_gb`, one of `processes`. If the run does not fit, `reason`
    is why, and `remedies` are the changes with which it does; none if the model is too large for the card."""

    card_gb: int
    processes: int
    fits: bool
    reason: str
    needed_gb: float
    usable_gb: float
    parts_gb: GrpoPartsOut
    phases_gb: PhasesOut
    remedies: list[RemedyOut]

    @classmethod
    def from_plan(cls, card: GrpoCardPlan) -> GrpoCardOut:
        """Return the plan as JSON."""
        return cls(
            card_gb=int(card.gb), processes=card.plan.world, fits=card.fits, reason=describe_reason(card),
            needed_gb=card.needed_gb, usable_gb=card.usable_gb,
            parts_gb=GrpoPartsOut(**card.parts_gb), phases_gb=PhasesOut(**card.phases_gb),
            remedies=[
                RemedyOut(sentence=describe_remedy(remedy), needed_gb=remedy.memory.needed / GB)
                for remedy in card.remedies
            ],
        )  # fmt: skip


class GpuMemoryOut(Schema):
    """Plans for cards of several sizes, or the `reason` why there are none: `cards` with es.backend native,
    `vllm_cards` with vllm, `grpo_cards` with method grpo. `prompt_tokens`, of the longest prompt, are assumed.
    `prompts`, of an iteration, are assumed only if `prompts_assumed`; with grpo, they are those of one batch."""

    reason: str
    prompt_tokens: int
    prompts: int
    prompts_assumed: bool
    cards: list[CardPlanOut]
    vllm_cards: list[VllmCardOut]
    grpo_cards: list[GrpoCardOut]

    @classmethod
    def from_memory(cls, memory: GpuMemory) -> GpuMemoryOut:
        """Return the plans as JSON."""
        return cls(
            reason=memory.reason, prompt_tokens=memory.prompt_tokens, prompts=memory.prompts,
            prompts_assumed=memory.prompts_assumed, cards=[CardPlanOut.from_plan(card) for card in memory.cards],
            vllm_cards=[VllmCardOut.from_plan(card) for card in memory.vllm_cards],
            grpo_cards=[GrpoCardOut.from_plan(card) for card in memory.grpo_cards],
        )  # fmt: skip
