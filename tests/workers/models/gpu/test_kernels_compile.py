"""Every kernel compiles for a Hopper GPU, and those of noise have no fused multiply-adds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hopper import compile_kernels

OF_NOISE = {"write_full", "add_full", "write_low_rank", "add_low_rank", "_fill"}


@pytest.fixture(scope="module")
def compiled() -> dict[str, list[str]]:
    """Return kernel name -> PTX of each of its compilations."""
    pytest.importorskip("triton", reason="triton comes with torch for GPUs, and on Linux with `make setup`")
    return compile_kernels("tests.workers.models.gpu.launch_all_kernels")


def test_all_kernels_of_steps_compile(compiled: dict[str, list[str]], kernel_device: Any) -> None:
    assert sum(len(programs) for name, programs in compiled.items() if name not in OF_NOISE) >= 20


def test_kernels_of_noise_compile_without_fused_multiply_adds(
    compiled: dict[str, list[str]], kernel_device: Any
) -> None:
    assert compiled.keys() >= OF_NOISE
    assert [name for name in OF_NOISE for ptx in compiled[name] if "fma.rn.f32" in ptx] == []
