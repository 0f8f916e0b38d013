"""The memory that a run takes on a GPU: pure arithmetic, so that the web and trainers plan alike."""

from workers.memory_plan.grpo import GrpoMemory, plan_grpo
from workers.memory_plan.grpo_remedies import Remedy, describe_plan, find_remedies
from workers.memory_plan.plan import CardTooSmall, MemoryPlan, ModelSizes, evaluation_bytes, plan_memory
from workers.memory_plan.population import plan_run

__all__ = [
    "CardTooSmall",
    "GrpoMemory",
    "MemoryPlan",
    "ModelSizes",
    "Remedy",
    "describe_plan",
    "evaluation_bytes",
    "find_remedies",
    "plan_grpo",
    "plan_memory",
    "plan_run",
]
