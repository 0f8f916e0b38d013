"""A GPU makes the very noise that a CPU makes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from workers.engines.es.noise import Noise, make_noise, normals
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.philox import Stream, by_numpy, by_tensors, halfwords

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
CPU, GPU = torch.device("cpu"), torch.device("cuda")
NOISES = [make_noise("full"), make_noise("low_rank", 3), make_noise("correlated")]
SHAPES = {"matrix": (300, 208), "odd": (31, 77), "vector": (5001,)}


def masters(device: torch.device) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {name: torch.randn(shape, generator=generator).to(device) for name, shape in SHAPES.items()}


def assert_equal(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> None:
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name].cpu(), right[name].cpu()) for name in left)


def test_kernel_and_tensor_operations_equal_numpy() -> None:
    streams = [Stream(5, (1 << 64) - 4, 0, 7), Stream(1 << 63, 3, 100, 3000), Stream(0, 0, (1 << 40) - 1, 2)]
    keys = [1, 1 << 40, (1 << 62) + 1]
    expected = by_numpy(keys, streams)
    assert torch.equal(halfwords(keys, streams, GPU).cpu(), expected)
    assert torch.equal(by_tensors(keys, streams, GPU).cpu(), expected)


@pytest.mark.parametrize("count", [1, 17, 100_003, 40_000_001])
def test_normals_are_the_same_to_the_bit(count: int) -> None:
    assert torch.equal(normals([3, -4], "w", count, GPU).cpu(), normals([3, -4], "w", count, CPU))


def test_a_weighted_sum_is_the_same_to_the_bit() -> None:
    for noise in (make_noise("full"), make_noise("low_rank", 3), make_noise("correlated")):
        likes = [torch.zeros(300, 200, device=device) for device in (CPU, GPU)]
        cpu, gpu = (noise.weighted_sum([5, -6, 7], [0.3, 0.1, -2.0], "w", like) for like in likes)
        assert torch.equal(cpu, gpu.cpu())


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_members_are_the_same_to_the_bit(noise: Noise) -> None:
    perturbation, types = Perturbation(noise, 0.01, dict.fromkeys(SHAPES, 1.5)), dict.fromkeys(SHAPES, torch.bfloat16)
    cpu, gpu = (perturbation.members([3, -4], masters(device), types) for device in (CPU, GPU))
    assert_equal(cpu, gpu)
    parameters = {name: torch.empty(shape, dtype=torch.bfloat16, device=GPU) for name, shape in SHAPES.items()}
    perturbation.write_member(-4, masters(GPU), parameters)
    assert_equal({name: tensor[1] for name, tensor in cpu.items()}, parameters)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_a_step_is_the_same_to_the_bit(noise: Noise) -> None:
    perturbation = Perturbation(noise, 0.01, {"matrix": 1.0, "odd": 0.3, "vector": 1.7})
    cpu, gpu = masters(CPU), masters(GPU)
    norms = [perturbation.step({5: 0.3, 6: -0.1, 7: 2.0}, master) for master in (cpu, gpu)]
    assert_equal(cpu, gpu)
    assert norms[0] == pytest.approx(norms[1], rel=1e-12)


def test_factors_are_the_same_to_the_bit() -> None:
    perturbation = Perturbation(make_noise("low_rank", 3), 0.01, dict.fromkeys(SHAPES, 1.5))
    cpu, gpu = (
        perturbation.factors([3, -4], {n: m for n, m in masters(device).items() if m.ndim == 2})
        for device in (CPU, GPU)
    )
    for side in (0, 1):
        assert_equal({n: f[side] for n, f in cpu.items()}, {n: f[side] for n, f in gpu.items()})
