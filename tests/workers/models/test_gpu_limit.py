"""The bound of torch's memory on a GPU that a run shares, and the sentence when the run exceeds it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch

from tests.cases import each_case
from workers.config import ConfigError, ModelConfig
from workers.config.run import ComputeConfig
from workers.memory_plan.card import CONTEXT_BYTES
from workers.memory_plan.limit import limit_environment
from workers.models import exceeded_reason, limit_gpu_memory

CARD = 100 * 2**30
OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 120.00 GiB is "
    "free. Including non-PyTorch memory, this process has 7.90 GiB memory in use. {}Of the allocated memory 7.01 GiB "
    "is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated."
)


class Properties(NamedTuple):
    total_memory: int


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Return the bounds that torch gets, GPU -> fraction, on a machine whose driver shows two GPUs to the process."""
    set_bounds: dict[int, float] = {}

    def set_fraction(fraction: float, device: int) -> None:
        set_bounds[device] = fraction

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: Properties(CARD * (1 + number)))
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", set_fraction)
    return set_bounds


def test_fraction_bounds_memory_on_each_gpu(bounds: dict[int, float]) -> None:
    limit_gpu_memory(ModelConfig(), ComputeConfig(gpus=0.25))
    assert bounds == {0: 0.25 - CONTEXT_BYTES / CARD, 1: 0.25 - CONTEXT_BYTES / (2 * CARD)}


def test_engines_divide_planned_memory(bounds: dict[int, float]) -> None:
    compute, environment = ComputeConfig(gpus="auto"), limit_environment(0.1, 10_240)
    limit_gpu_memory(ModelConfig(), compute, processes=2, environment=environment)
    assert bounds[0] == (5 * 2**30 - CONTEXT_BYTES) / CARD


@each_case("gpus, device", [(0, "auto"), (1, "auto"), ("auto", "auto"), (0.5, "cpu")])
def test_run_with_whole_gpus_or_none_has_no_bound(bounds: dict[int, float], gpus: Any, device: Any) -> None:
    limit_gpu_memory(ModelConfig(device=device), ComputeConfig(gpus=gpus), environment={})
    assert bounds == {}


def test_service_that_gives_no_gpu_is_refused(bounds: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    limit_gpu_memory(ModelConfig(), ComputeConfig(gpus=0.5), environment={})
    with pytest.raises(ConfigError, match="torch finds no GPU through CUDA's Multi-Process Service"):
        limit_gpu_memory(ModelConfig(), ComputeConfig(gpus=0.5), environment={"CUDA_MPS_PIPE_DIRECTORY": "/pipe"})


def test_exceeded_bound_is_named() -> None:
    error = torch.OutOfMemoryError(OUT_OF_MEMORY.format("7.25 GiB allowed; "))
    reason = exceeded_reason(error)
    assert reason.startswith("the run exceeded its share of the GPU")
    assert "set compute.gpus to a larger fraction, or to 1" in reason and "7.25 GiB allowed" in reason
    outer = RuntimeError("the iteration failed")
    outer.__cause__ = error
    assert exceeded_reason(outer) == reason


def test_full_gpu_is_no_exceeded_bound() -> None:
    assert exceeded_reason(torch.OutOfMemoryError(OUT_OF_MEMORY.format(""))) == ""
    assert exceeded_reason(MemoryError("7.25 GiB allowed; ")) == ""
