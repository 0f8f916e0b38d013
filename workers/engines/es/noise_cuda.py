"""ES noise on a GPU: members, updates and low-rank factors of a whole model in one or two launches, bits as on a CPU.

`noise.py` and `perturbation.py` define the numbers, and call this module if Triton runs. A launch costs the host some
20 µs: with one for each tensor, hundreds of small tensors would take longer than all noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
import triton.language as tl
from torch import Tensor

from workers.engines.es import noise_kernels as kernels
from workers.engines.es.noise import Noise, signs
from workers.engines.es.noise_launch import Matrix, PartSizes, Target, on, parts_of, tables, unsigned

TYPES = {torch.float32: tl.float32, torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}
MAX_FACTOR_ELEMENTS = 1 << 28
"""Numbers in the factors that an update holds. Matrices that need more are updated in several launches."""
DEFAULT_SIZES = PartSizes()


def write_members(
    outs: Mapping[str, Tensor],
    masters: Mapping[str, Tensor],
    noise: Noise,
    seeds: Sequence[int],
    factors: Mapping[str, float],
    sizes: PartSizes = DEFAULT_SIZES,
) -> None:
    """Write cast(master + factor · ε) of every member into outs: name -> [seeds, *shape], all of one type of floats.

    Masters are float32. All tensors are contiguous, and on one device. Raise ValueError if one is not contiguous.
    """
    matrices, others = _split(masters, noise)
    if others:
        streams = {name: noise.stream(name) for name in others}
        _write_full([Target(streams[n], factors[n], outs[n], master) for n, master in others.items()], seeds, sizes)
    if matrices:
        low_rank_factors = draw_factors(matrices, noise.rank, seeds, sizes)
        _write_low_rank(
            [Matrix(factors[n], outs[n], m, *low_rank_factors[n]) for n, m in matrices.items()], noise.rank, sizes
        )


def add_weighted_sums(
    masters: Mapping[str, Tensor],
    noise: Noise,
    directions: Mapping[int, float],
    scales: Mapping[str, float],
    sizes: PartSizes = DEFAULT_SIZES,
) -> float:
    """Add scale · Σ weight · ε, over directions seed -> weight in their order, to every master, in place.

    Masters are float32, contiguous and on one device. Raise ValueError if one is not contiguous. Return the sum of
    the squares of what was added, in float64.
    """
    seeds = list(directions)
    matrices, others = _split(masters, noise)
    squares = 0.0
    if others:
        targets = [Target(noise.stream(name), scales[name], m.unsqueeze(0), m) for name, m in others.items()]
        squares += _add_full(targets, directions, sizes)
    for group in _groups(matrices, len(seeds) * noise.rank):
        factors = draw_factors(group, noise.rank, seeds, sizes)
        pairs = [Matrix(scales[name], m.unsqueeze(0), m, *factors[name]) for name, m in group.items()]
        squares += _add_low_rank(pairs, noise.rank, list(directions.values()), sizes)
    return squares


def draw_factors(
    likes: Mapping[str, Tensor], rank: int, seeds: Sequence[int], sizes: PartSizes = DEFAULT_SIZES
) -> dict[str, tuple[Tensor, Tensor]]:
    """Return for each matrix A [seeds, out, rank], with sign and 1/√rank, and B [seeds, in, rank]: as Noise.factors."""
    device = next(iter(likes.values())).device
    lengths = [length for like in likes.values() for length in like.shape]
    buffer = torch.empty(len(seeds) * rank * sum(lengths), device=device)
    parts = torch.split(buffer, [len(seeds) * rank * length for length in lengths])
    buffers = [part.view(len(seeds), -1, rank) for part in parts]
    factors = dict(zip(likes, zip(buffers[::2], buffers[1::2], strict=True), strict=True))
    sides = [side for name, (a, b) in factors.items() for side in _sides(name, rank, a, b)]
    _write_full(sides, seeds, sizes)
    return factors


def _sides(name: str, rank: int, a: Tensor, b: Tensor) -> tuple[Target, Target]:
    return Target(f"{name}#A", rank**-0.5, a, None), Target(f"{name}#B", 1.0, b, None, is_signed=False)


def _split(masters: Mapping[str, Tensor], noise: Noise) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the matrices that get low-rank noise, and the other tensors."""
    matrices = {name: master for name, master in masters.items() if noise.is_low_rank(master)}
    return matrices, {name: master for name, master in masters.items() if name not in matrices}


def _groups(matrices: Mapping[str, Tensor], columns: int) -> Iterator[dict[str, Tensor]]:
    """Cut matrices, whose factors have so many columns over all members, into groups that memory can hold."""
    group: dict[str, Tensor] = {}
    numbers = 0
    for name, matrix in matrices.items():
        needed = columns * sum(matrix.shape)
        if group and numbers + needed > MAX_FACTOR_ELEMENTS:
            yield group
            group, numbers = {}, 0
        group[name] = matrix
        numbers += needed
    if group:
        yield group


def _write_full(targets: Sequence[Target], seeds: Sequence[int], sizes: PartSizes) -> None:
    """Write every target's `out`. All have a master, or none has."""
    out = targets[0].out
    counts = [parts_of(target, sizes) for target in targets]
    with on(out.device):
        kernels.write_full[(sum(counts), len(seeds))](
            **tables(targets, counts, out.device),
            seeds=unsigned(seeds, out.device),
            signs=signs(seeds, out.device),
            dtype=TYPES[out.dtype],
            has_master=targets[0].master is not None,
            **sizes.full(out.device),
        )


def _add_full(targets: Sequence[Target], directions: Mapping[int, float], sizes: PartSizes) -> float:
    """Add to every target's master. Return the sum of squares."""
    device, seeds = targets[0].out.device, list(directions)
    counts = [parts_of(target, sizes) for target in targets]
    squares = torch.empty(sum(counts), dtype=torch.float64, device=device)
    weights = torch.tensor(list(directions.values()), dtype=torch.float32, device=device)
    with on(device):
        kernels.add_full[(sum(counts),)](
            **tables(targets, counts, device),
            seeds=unsigned(seeds, device),
            weights=weights * signs(seeds, device),
            members=len(seeds),
            squares=squares,
            **sizes.full(device),
        )
    return float(squares.sum())


def _write_low_rank(targets: Sequence[Matrix], rank: int, sizes: PartSizes) -> None:
    """Write every target's `out`."""
    out = targets[0].out
    counts = [parts_of(target, sizes) for target in targets]
    with on(out.device):
        kernels.write_low_rank[(sum(counts), len(out))](
            **tables(targets, counts, out.device), ranks=rank, dtype=TYPES[out.dtype], **sizes.low_rank()
        )


def _add_low_rank(targets: Sequence[Matrix], rank: int, weights: Sequence[float], sizes: PartSizes) -> float:
    """Add to every target's master. Return the sum of squares."""
    device = targets[0].out.device
    counts = [parts_of(target, sizes) for target in targets]
    squares = torch.empty(sum(counts), dtype=torch.float64, device=device)
    with on(device):
        kernels.add_low_rank[(sum(counts),)](
            **tables(targets, counts, device),
            ranks=rank,
            weights=torch.tensor(weights, dtype=torch.float32, device=device),
            members=len(weights),
            squares=squares,
            **sizes.low_rank(),
        )
    return float(squares.sum())
