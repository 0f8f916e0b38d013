"""The memory of torch on a GPU that the run shares: a run that exceeds its part ends alone."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from workers.config import ConfigError, ModelConfig, Problem
from workers.config.run import ComputeConfig
from workers.gpus.mps import PIPE_VARIABLE
from workers.memory_plan.card import CONTEXT_BYTES
from workers.memory_plan.limit import memory_limit

NO_SERVICE = (
    "cannot be shared here: torch finds no GPU through CUDA's Multi-Process Service. Resume the run, or set it to 1; "
    'an admin can also set "mps": false in the config of the cluster'
)
EXCEEDED = (
    "the run exceeded its share of the GPU, which it may share with others: set compute.gpus to a larger fraction, or "
    "to 1 for a GPU of its own"
)


def limit_gpu_memory(
    model: ModelConfig,
    compute: ComputeConfig,
    *,
    processes: int = 1,
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Bound the memory that this process allocates on its GPU by the run's part of it, if it shares the GPU.

    `processes` of the run share that part equally. What CUDA itself takes counts, and is not in torch's bound. Raise
    ConfigError if the environment states no valid part, or names a service for sharing that gives no GPU.
    """
    if not compute.shares_gpu or model.device == "cpu":
        return
    if not torch.cuda.is_available():
        if PIPE_VARIABLE in environment:
            # Without this, the run would train on the CPU.
            raise ConfigError([Problem("compute.gpus", NO_SERVICE)])
        return
    for number in range(torch.cuda.device_count()):
        card = int(torch.cuda.get_device_properties(number).total_memory)
        limit = memory_limit(compute, card, environment)
        if limit is not None:
            own = max(0, limit // processes - CONTEXT_BYTES)
            torch.cuda.set_per_process_memory_fraction(own / card, number)


def exceeded_reason(error: BaseException) -> str:
    """Return a sentence if this error, or one that it came from, is a memory bound of `limit_gpu_memory`; else ""."""
    cause: BaseException | None = error
    while cause is not None:
        # Torch names a bound beside the memory of the GPU, and only where there is one.
        if isinstance(cause, torch.OutOfMemoryError) and " allowed; " in str(cause):
            return f"{EXCEEDED} ({str(cause).partition('Of the allocated memory')[0].strip()})"
        cause = cause.__cause__ or cause.__context__
    return ""
