"""Launch every kernel of ES noise, with the sizes of parts that training uses, on tensors of a CPU."""

from __future__ import annotations

import torch

from workers.engines.es import noise_cuda, philox_cuda
from workers.engines.es.noise import make_noise
from workers.engines.es.philox import Stream

SEEDS = [5, -6, 7]
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "aligned": {"matrix": (16, 32), "vector": (64,)},
    "odd": {"matrix": (7, 13), "vector": (5,)},
}


def main() -> None:
    """Write members of every type of floats, update, and write Philox blocks."""
    for shapes in SHAPES.values():
        masters = {name: torch.zeros(shape) for name, shape in shapes.items()}
        ones = dict.fromkeys(masters, 1.0)
        for noise in (make_noise("full"), make_noise("low_rank", 1), make_noise("low_rank", 3)):
            for dtype in noise_cuda.TYPES:
                outs = {name: torch.empty(len(SEEDS), *shape, dtype=dtype) for name, shape in shapes.items()}
                noise_cuda.write_members(outs, masters, noise, SEEDS, ones)
            noise_cuda.add_weighted_sums(masters, noise, dict.fromkeys(SEEDS, 0.5), ones)
    philox_cuda.by_triton(SEEDS, [Stream(1, 2, 0, 3)], torch.device("cpu"))
