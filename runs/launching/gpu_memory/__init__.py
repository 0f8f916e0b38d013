"""Plan the GPU memory of a run before it is launched."""

from runs.launching.gpu_memory.plan import CardPlan, GpuMemory, largest_plan, plan_gpu_memory

__all__ = [
    "CardPlan",
    "GpuMemory",
    "largest_plan",
    "plan_gpu_memory",
]
