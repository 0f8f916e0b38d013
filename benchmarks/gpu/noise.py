"""ES noise on a GPU: the time to write a member and to update from 30 members, for a 1.5B model with random weights.

    python3 -m benchmarks.gpu.noise [--rank 1] [--rounds 5]

It first compares the kernels' bits with those of the CPU, on small tensors. Times are medians, by CUDA events around
all that one call does on host and GPU, after a first call that compiles. It needs torch, triton, numpy and what
`workers` imports.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from benchmarks import results
from benchmarks.gpu.qwen import random_masters
from workers.engines.es.noise import Noise, make_noise
from workers.engines.es.noise_cuda import add_weighted_sums, draw_factors, write_members
from workers.engines.es.perturbation import Perturbation

WRITE_GOAL, UPDATE_GOAL = 15.0, 300.0
"""The most milliseconds."""
MEMBERS, SIGMA = 30, 1e-3
DIRECTIONS = {1000 + i: (-1) ** i * 1e-5 * (i + 1) for i in range(MEMBERS)}
SMALL: dict[str, tuple[int, ...]] = {"wide": (40, 768), "rows": (300, 96), "whole": (8192,)}
ODD: dict[str, tuple[int, ...]] = {"odd": (37, 131), "vector": (4099,)}
"""Shapes that a thread cannot access in steps of 16 bytes."""


def main() -> int:
    """Check, measure, print, and return the exit code."""
    options = argparse.ArgumentParser(description="times of ES noise on a GPU")
    options.add_argument("--rank", type=int, default=1)
    options.add_argument("--rounds", type=int, default=5)
    arguments = options.parse_args()
    if not torch.cuda.is_available():
        for figure in ("write one member", "update"):
            results.not_measured(figure, "no GPU")
        return results.exit_code()
    noises = {"full": make_noise("full"), "low_rank": make_noise("low_rank", arguments.rank)}
    for noise in (*noises.values(), make_noise("correlated"), make_noise("low_rank", 3)):
        check_bits(noise)
    device = torch.device("cuda")
    masters = random_masters(device)
    outs = {name: torch.empty(1, *m.shape, dtype=torch.bfloat16, device=device) for name, m in masters.items()}
    report_machine(masters)
    for name, noise in noises.items():
        write, update = times(noise, masters, outs, arguments.rounds)
        results.at_most(f"write one member, {name}", write, WRITE_GOAL, "ms")
        results.at_most(f"update from {MEMBERS} members, {name}", update, UPDATE_GOAL, "ms")
    matrices = {name: m for name, m in masters.items() if m.ndim == 2}
    drawing = milliseconds(partial(draw_factors, matrices, arguments.rank, list(DIRECTIONS)), arguments.rounds)
    results.without_goal(f"factors of {MEMBERS} members", drawing, "ms")
    return results.exit_code()


def check_bits(noise: Noise) -> None:
    """Compare members and updates with those of the CPU. Raise AssertionError if a bit differs."""
    for shapes in (SMALL, SMALL | ODD):
        check_shapes(noise, {name: torch.randn(shape) for name, shape in shapes.items()})


def check_shapes(noise: Noise, master: dict[str, Tensor]) -> None:
    """Compare members of these tensors, and an update, with those of the CPU. Change `master`."""
    cpu, scales = torch.device("cpu"), dict.fromkeys(master, 1.25)
    perturbation, seeds = Perturbation(noise, SIGMA, scales), [3, -4, (1 << 62) + 1]
    factors = {name: SIGMA * scale for name, scale in scales.items()}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        on_gpu = {name: tensor.cuda() for name, tensor in master.items()}
        outs = {n: torch.full((3, *m.shape), torch.nan, dtype=dtype, device="cuda") for n, m in master.items()}
        write_members(outs, on_gpu, noise, seeds, factors)
        for name, tensor in perturbation.members(seeds, master, dict.fromkeys(master, dtype)).items():
            assert same_bits(outs[name].to(cpu), tensor), f"members of {noise} differ in {name}"
    updated = {name: tensor.cuda() for name, tensor in master.items()}
    squares = add_weighted_sums(updated, noise, DIRECTIONS, scales)
    norm = perturbation.step(DIRECTIONS, master)
    for name, tensor in updated.items():
        assert same_bits(tensor.to(cpu), master[name]), f"the update of {noise} differs in {name}"
    assert abs(squares**0.5 / norm - 1) < 1e-9, f"the norm is {squares**0.5}, not {norm}"


def same_bits(left: Tensor, right: Tensor) -> bool:
    """Return whether two tensors are equal to the bit: zeros of both signs differ."""
    return torch.equal(left.contiguous().view(torch.uint8), right.contiguous().view(torch.uint8))


def report_machine(masters: Mapping[str, Tensor]) -> None:
    """Print the card, and the least times that its memory allows."""
    numbers = sum(m.numel() for m in masters.values())
    source, target = (torch.empty(1 << 30, dtype=torch.float32, device="cuda").normal_() for _ in range(2))
    rate = 2 * source.numel() * 4 / milliseconds(lambda: target.copy_(source), 5) / 1e9
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {numbers / 1e9:.2f} G parameters")
    member, update = (numbers * size / rate / 1e9 for size in (6, 8))
    print(f"copy {rate:.2f} TB/s: a member at least {member:.1f} ms, an update {update:.1f} ms")


def times(noise: Noise, masters: Mapping[str, Tensor], outs: Mapping[str, Tensor], rounds: int) -> tuple[float, float]:
    """Return the milliseconds to write one member and to update from all directions."""
    factors, scales = dict.fromkeys(masters, SIGMA), dict.fromkeys(masters, 1.0)
    write = partial(write_members, outs, masters, noise, [7], factors)
    update = partial(add_weighted_sums, masters, noise, DIRECTIONS, scales)
    return milliseconds(write, rounds), milliseconds(update, rounds)


def milliseconds(call: Callable[[], object], rounds: int) -> float:
    """Return the median time of a call, after one that is not counted."""
    call()
    spent = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        call()
        end.record()
        end.synchronize()
        spent.append(start.elapsed_time(end))
    return statistics.median(spent)


if __name__ == "__main__":
    sys.exit(main())
