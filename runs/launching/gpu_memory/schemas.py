"""JSON schemas of the GPU memory plan of a run."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Word, is_unstorable
from runs.launching.gpu_memory.plan import GpuMemory
from workers.preflight import CardPlan, VllmCardPlan


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


class GpuMemoryOut(Schema):
    """Plans for cards of several sizes, or the `reason` why there are none: `cards` with es.backend native,
    `vllm_cards` with vllm. `prompt_tokens`, of the longest prompt, are
    assumed; `prompts`, of an iteration, are assumed only if `prompts_assumed`."""

    reason: str
    prompt_tokens: int
    prompts: int
    prompts_assumed: bool
    cards: list[CardPlanOut]
    vllm_cards: list[VllmCardOut]

    @classmethod
    def from_memory(cls, memory: GpuMemory) -> GpuMemoryOut:
        """Return the plans as JSON."""
        return cls(
            reason=memory.reason, prompt_tokens=memory.prompt_tokens, prompts=memory.prompts,
            prompts_assumed=memory.prompts_assumed, cards=[CardPlanOut.from_plan(card) for card in memory.cards],
            vllm_cards=[VllmCardOut.from_plan(card) for card in memory.vllm_cards],
        )  # fmt: skip
