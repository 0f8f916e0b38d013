"""The memory that a run takes on a GPU: pure arithmetic, so that the web and trainers plan alike."""

from workers.memory_plan.card import GB, CardPlan, Remedy
from workers.memory_plan.grpo import plan_grpo
from workers.memory_plan.grpo_remedies import find_remedies, with_remedies
from workers.memory_plan.plan import ModelSizes, describe_batches, describe_plan, evaluation_bytes, plan_memory
from workers.memory_plan.population import plan_run

__all__ = [
    "GB",
    "CardPlan",
    "ModelSizes",
    "Remedy",
    "describe_batches",
    "describe_plan",
    "evaluation_bytes",
    "find_remedies",
    "plan_grpo",
    "plan_memory",
    "plan_run",
    "with_remedies",
]
