"""A GPU makes the very noise that a CPU makes."""

from __future__ import annotations

import pytest
import torch

from workers.engines.es.noise import Noise, normals
from workers.engines.es.philox import Stream, by_numpy, by_tensors, halfwords

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
CPU, GPU = torch.device("cpu"), torch.device("cuda")


def test_kernel_and_tensor_operations_make_the_bits_that_numpy_makes() -> None:
    streams = [Stream(5, (1 << 64) - 4, 0, 7), Stream(1 << 63, 3, 100, 3000), Stream(0, 0, (1 << 40) - 1, 2)]
    keys = [1, 1 << 40, (1 << 62) + 1]
    expected = by_numpy(keys, streams)
    assert torch.equal(halfwords(keys, streams, GPU).cpu(), expected)
    assert torch.equal(by_tensors(keys, streams, GPU).cpu(), expected)


@pytest.mark.parametrize("count", [1, 17, 100_003, 40_000_001])
def test_normals_are_the_same_to_the_bit(count: int) -> None:
    assert torch.equal(normals([3, -4], "w", count, GPU).cpu(), normals([3, -4], "w", count, CPU))


def test_a_weighted_sum_is_the_same_to_the_bit() -> None:
    for noise in (Noise("full"), Noise("low_rank", 3), Noise("correlated")):
        likes = [torch.zeros(300, 200, device=device) for device in (CPU, GPU)]
        cpu, gpu = (noise.weighted_sum([5, -6, 7], [0.3, 0.1, -2.0], "w", like) for like in likes)
        assert torch.equal(cpu, gpu.cpu())
