"""The memory that a run takes on a GPU: pure arithmetic, so that the web and trainers plan alike."""

from workers.memory_plan.card import GB, CardPlan, Remedy
from workers.memory_plan.grpo import centre_stays, plan_grpo
from workers.memory_plan.grpo_remedies import find_remedies, with_remedies
from workers.memory_plan.plan import (
    EVALUATED_READ_ROWS,
    EVALUATED_ROWS,
    ModelSizes,
    describe_batches,
    describe_plan,
    evaluated_responses,
    evaluation_bytes,
    plan_memory,
)
from workers.memory_plan.population import plan_run
from workers.memory_plan.share import claimed_bytes, share_of_card

__all__ = [
    "EVALUATED_READ_ROWS",
    "EVALUATED_ROWS",
    "GB",
    "CardPlan",
    "ModelSizes",
    "Remedy",
    "centre_stays",
    "claimed_bytes",
    "describe_batches",
    "describe_plan",
    "evaluated_responses",
    "evaluation_bytes",
    "find_remedies",
    "plan_grpo",
    "plan_memory",
    "plan_run",
    "share_of_card",
    "with_remedies",
]
