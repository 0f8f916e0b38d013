"""The memory that an ES run takes on a GPU: pure arithmetic, so that the web and trainers plan alike."""

from workers.memory_plan.plan import CardTooSmall, MemoryPlan, ModelSizes, evaluation_bytes, plan_memory
from workers.memory_plan.population import plan_run

__all__ = ["CardTooSmall", "MemoryPlan", "ModelSizes", "evaluation_bytes", "plan_memory", "plan_run"]
