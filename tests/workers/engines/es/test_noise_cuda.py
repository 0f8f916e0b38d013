"""Kernels that fuse noise with members and updates give the bits of the CPU.

Without a GPU, Triton's interpreter runs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.triton_interpreter import HAS_GPU
from workers.engines.es import noise_cuda, noise_kernels, philox_cuda
from workers.engines.es.noise import Noise, make_noise, name_words
from workers.engines.es.noise_launch import PartSizes, are_aligned
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.philox import Stream, by_numpy, halfwords, signed
from workers.engines.es.quantiles import SIZE, normal_quantiles

CPU = torch.device("cpu")
SEEDS = [5, -6, (1 << 62) + 1]
SIGMA = 0.37
NOISES = [make_noise("full"), make_noise("correlated"), make_noise("low_rank", 1), make_noise("low_rank", 3)]
SMALL_PARTS = PartSizes(blocks=32, tile=(8, 32))
SHAPES = {"odd": (7, 13), "wide": (9, 48), "tall": (70, 16), "vector": (515,), "whole": (1024,), "number": (1,)}
ALIGNED = ("wide", "tall", "whole")
"""Tensors that the kernels access in steps of 16 bytes, if no other tensor is in the launch."""
SIZES = {
    "all": (SMALL_PARTS, tuple(SHAPES)),
    "aligned": (SMALL_PARTS, ALIGNED),
    "default sizes": (PartSizes(), ("odd", "whole")),
}
SLOW = [("all", NOISES[1]), ("all", NOISES[2]), ("aligned", NOISES[1])]
"""Cases of which the others have each part: correlated noise, a rank of 1, and all tensors in one launch."""
CASES = pytest.mark.parametrize(
    ("noise", "sizes", "names"),
    [
        pytest.param(noise, *SIZES[key], id=f"{key}-{noise}", marks=[pytest.mark.soak] * ((key, noise) in SLOW))
        for key in SIZES
        for noise in NOISES
    ],
)

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def masters(names: Sequence[str] = tuple(SHAPES)) -> dict[str, Tensor]:
    """Return float32 tensors of these names; the first elements of one are zeros of both signs."""
    generator = torch.Generator().manual_seed(3)
    tensors = {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
    tensors["wide"][0, :2] = torch.tensor([0.0, -0.0])
    return {name: tensors[name] for name in names}


def copies(tensors: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    return {name: tensor.clone().to(device) for name, tensor in tensors.items()}


def bits(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the bytes of a tensor: zeros of both signs differ."""
    return tensor.contiguous().cpu().view(torch.uint8).numpy()


def assert_same_bits(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> None:
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert tensor.shape == right[name].shape
        np.testing.assert_array_equal(bits(tensor), bits(right[name]), err_msg=name)


def test_quantiles_mirror_in_their_middle() -> None:
    table = normal_quantiles(CPU)
    assert torch.equal(table[: SIZE // 2].flip(0), -table[SIZE // 2 :])
    assert bool((table[SIZE // 2 :] > 0).all())


def test_written_philox_blocks_have_the_bits_of_numpy(kernel_device: torch.device) -> None:
    streams = [Stream(5, (1 << 64) - 4, 0, 7), Stream(1 << 63, 3, 100, 300), Stream(0, 0, (1 << 40) - 1, 2)]
    keys = [1, (1 << 62) + 1]
    assert torch.equal(philox_cuda.by_triton(keys, streams, kernel_device).cpu(), by_numpy(keys, streams))


@CASES
def test_members_have_the_bits_of_the_cpu(
    noise: Noise, sizes: PartSizes, names: Sequence[str], kernel_device: torch.device
) -> None:
    compare_members(noise, sizes, names, torch.float32, kernel_device)


@pytest.mark.parametrize("noise", [NOISES[0], NOISES[-1]], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_members_are_rounded_as_on_the_cpu(noise: Noise, dtype: torch.dtype, kernel_device: torch.device) -> None:
    if dtype == torch.bfloat16 and not HAS_GPU:
        pytest.skip("this machine has no GPU, and Triton's interpreter cuts to bfloat16 instead of rounding")
    compare_members(noise, SMALL_PARTS, ALIGNED, dtype, kernel_device)


def compare_members(
    noise: Noise, sizes: PartSizes, names: Sequence[str], dtype: torch.dtype, kernel_device: torch.device
) -> None:
    """Check members of several seeds, cast to a type, against those of the CPU."""
    master, scales = masters(names), {name: 1.0 + i / 7 for i, name in enumerate(names)}
    perturbation = Perturbation(noise, SIGMA, scales)
    expected = {name: perturbation.member_tensors(SEEDS, name, tensor).to(dtype) for name, tensor in master.items()}
    outs = {n: torch.full_like(e, torch.nan, device=kernel_device) for n, e in expected.items()}
    factors = {name: SIGMA * scale for name, scale in scales.items()}
    noise_cuda.write_members(outs, copies(master, kernel_device), noise, SEEDS, factors, sizes)
    assert_same_bits(outs, expected)


@CASES
def test_update_has_the_bits_of_the_cpu(
    noise: Noise, sizes: PartSizes, names: Sequence[str], kernel_device: torch.device
) -> None:
    directions = dict(zip(SEEDS, [0.3, 0.1, -2.0], strict=True)) | {8: 0.0}
    scales = {name: 1.0 if i % 2 else 1.0 + i / 7 for i, name in enumerate(names)}
    updated, expected = copies(masters(names), kernel_device), masters(names)
    norm = Perturbation(noise, SIGMA, scales).step(directions, expected)
    squares = noise_cuda.add_weighted_sums(updated, noise, directions, scales, sizes)
    assert_same_bits(updated, expected)
    assert squares**0.5 == pytest.approx(norm, rel=1e-12)


def test_update_has_the_same_bits_when_factors_come_in_groups(
    monkeypatch: pytest.MonkeyPatch, kernel_device: torch.device
) -> None:
    noise, scales, directions = make_noise("low_rank", 2), dict.fromkeys(SHAPES, 1.0), {5: 0.3, 6: -0.1}
    updated, expected = copies(masters(), kernel_device), masters()
    norm = Perturbation(noise, SIGMA, scales).step(directions, expected)
    monkeypatch.setattr(noise_cuda, "MAX_FACTOR_ELEMENTS", 4 * (7 + 13))
    squares = noise_cuda.add_weighted_sums(updated, noise, directions, scales, SMALL_PARTS)
    assert_same_bits(updated, expected)
    assert squares**0.5 == pytest.approx(norm, rel=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_factors_have_the_bits_of_the_cpu(rank: int, kernel_device: torch.device) -> None:
    matrices = {name: tensor for name, tensor in masters().items() if tensor.ndim == 2}
    expected = make_noise("low_rank", rank).factors(SEEDS, matrices)
    factors = noise_cuda.draw_factors(copies(matrices, kernel_device), rank, SEEDS, SMALL_PARTS)
    for side in (0, 1):
        assert_same_bits({n: f[side] for n, f in factors.items()}, {n: f[side] for n, f in expected.items()})


@pytest.mark.usefixtures("overflow_checks")
@pytest.mark.parametrize("position", [(1 << 31) - 512, (1 << 35) - 512], ids=["int32", "counter"])
def test_part_far_into_a_tensor_has_the_bits_of_the_cpu(position: int, kernel_device: torch.device) -> None:
    """Of up to 2³⁵ elements the last 1 024 exist: the kernel is given the address where the tensor would start."""
    sizes, size = PartSizes(blocks=32), 1024
    name, first = name_words("w"), position // 16
    half = halfwords([5], [Stream(*name, first, size // 16)], CPU)[0]
    sample = normal_quantiles(CPU)[half.long()]
    out, master = torch.empty(size, device=kernel_device), torch.ones(size, device=kernel_device)
    starts = (tensor.data_ptr() - 4 * position for tensor in (out, master))
    row = (*starts, -first // 32, position + size, *map(signed, name), 1)
    noise_kernels.write_full[(2, 1)](
        rows=torch.tensor([row], device=kernel_device),
        scales=torch.tensor([0.5], device=kernel_device),
        owner=torch.zeros(2, dtype=torch.int32, device=kernel_device),
        seeds=torch.tensor([5], device=kernel_device),
        signs=torch.ones(1, device=kernel_device),
        dtype=noise_cuda.TYPES[torch.float32],
        has_master=True,
        aligned=True,
        **sizes.full(kernel_device),
    )
    assert_same_bits({"w": out}, {"w": sample * 0.5 + 1.0})


def test_write_members_refuses_a_tensor_that_is_not_contiguous(kernel_device: torch.device) -> None:
    outs, master = {"w": torch.empty(1, 8, 6, device=kernel_device)}, {"w": torch.ones(6, 8, device=kernel_device).T}
    with pytest.raises(ValueError, match="must be contiguous"):
        noise_cuda.write_members(outs, master, make_noise("full"), [1], {"w": 1.0})


@pytest.mark.parametrize("noise", [NOISES[0], NOISES[-1]], ids=str)
def test_perturbation_gives_the_same_bits_by_kernels(
    noise: Noise, monkeypatch: pytest.MonkeyPatch, kernel_device: torch.device
) -> None:
    small = {name: tensor for name, tensor in masters().items() if name in ("odd", "vector")}
    matrices, types = {"odd": small["odd"]}, {"odd": torch.float16, "vector": torch.float32}
    perturbation = Perturbation(noise, SIGMA, {"odd": 1.5, "vector": 1.0})
    low_rank = Perturbation(make_noise("low_rank", 2), SIGMA, perturbation.scales)
    updated, expected = copies(small, kernel_device), {name: tensor.clone() for name, tensor in small.items()}
    members, factors = perturbation.members(SEEDS, small, types), low_rank.factors(SEEDS, matrices)
    norm = perturbation.step({5: 0.3, 6: -0.1}, expected)
    for module in ("noise", "perturbation"):
        monkeypatch.setattr(f"workers.engines.es.{module}.runs_triton", lambda device: True)
    assert_same_bits(perturbation.members(SEEDS, copies(small, kernel_device), types), members)
    parameters = {name: torch.empty_like(tensor[1], device=kernel_device) for name, tensor in members.items()}
    perturbation.write_member(SEEDS[1], copies(small, kernel_device), parameters)
    assert_same_bits(parameters, {name: tensor[1] for name, tensor in members.items()})
    kernel_factors = low_rank.factors(SEEDS, copies(matrices, kernel_device))
    assert_same_bits(dict(zip("AB", kernel_factors["odd"], strict=True)), dict(zip("AB", factors["odd"], strict=True)))
    assert perturbation.step({5: 0.3, 6: -0.1}, updated) == pytest.approx(norm, rel=1e-12)
    assert_same_bits(updated, expected)


def test_tensors_are_aligned_if_all_members_start_at_multiples_of_16_bytes() -> None:
    shifted = torch.empty(1, 9)[:, 1:]
    assert are_aligned(torch.empty(3, 8), torch.empty(8))
    assert are_aligned(torch.empty(1, 5), None)
    assert not are_aligned(torch.empty(3, 5), None)
    assert not are_aligned(torch.empty(3, 4, dtype=torch.bfloat16), None)
    assert not are_aligned(shifted, None)
    assert not are_aligned(torch.empty(1, 8), shifted[0])
