"""The memory that an ES run takes on a GPU: pure arithmetic, so that the web and trainers plan alike."""

from workers.memory_plan.plan import CardTooSmall, MemoryPlan, ModelSizes, members_at_once, plan_memory
from workers.memory_plan.population import batch_members, plan_new_run

__all__ = [
    "CardTooSmall",
    "MemoryPlan",
    "ModelSizes",
    "batch_members",
    "members_at_once",
    "plan_memory",
    "plan_new_run",
]
