"""Plan the GPU memory of a run before it is launched."""

from runs.launching.gpu_memory.model_config import ModelConfigMissing
from runs.launching.gpu_memory.plan import GpuMemory, Models, largest_plan, plan_gpu_memory

__all__ = [
    "GpuMemory",
    "ModelConfigMissing",
    "Models",
    "largest_plan",
    "plan_gpu_memory",
]
