"""Plan the GPU memory of a run before it is launched."""

from runs.launching.gpu_memory.default_gpus import GpuChoice, GpuDefaults, Gpus
from runs.launching.gpu_memory.model_config import ModelConfigMissing
from runs.launching.gpu_memory.plan import GpuMemory, Models, largest_plan, plan_gpu_memory
from runs.launching.gpu_memory.sentences import describe_gpus, planned_resources

__all__ = [
    "GpuChoice",
    "GpuDefaults",
    "GpuMemory",
    "Gpus",
    "ModelConfigMissing",
    "Models",
    "describe_gpus",
    "largest_plan",
    "plan_gpu_memory",
    "planned_resources",
]
