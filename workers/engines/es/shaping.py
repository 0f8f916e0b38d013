"""Fitness -> the weight zᵢ with which each member's noise enters the update. Plain numbers in, plain numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

TOLERANCE = 1e-8
"""Fitness values that differ by no more, relative to the largest or to 1, count as equal.

A reward model's float32 numbers agree to 1e-7 at best, and a mean over prompts rounds at 1e-16: a smaller difference is
rounding, which z-scores would blow up to a step of full size.
"""


def shape_fitness(fitness: Sequence[float], method: Literal["z_score", "centred_ranks"]) -> list[float]:
    """Return one weight a member; all are 0 if the fitness differs by no more than the tolerance: a dead iteration."""
    if max(fitness) - min(fitness) <= tolerance(fitness):
        return [0.0] * len(fitness)
    return z_scores(fitness) if method == "z_score" else centred_ranks(fitness)


def tolerance(fitness: Sequence[float]) -> float:
    """Return the difference up to which two of these values count as equal, in units of the fitness."""
    return TOLERANCE * max(1.0, *map(abs, fitness))


def z_scores(fitness: Sequence[float]) -> list[float]:
    """Return (r − mean) / std with the population's std (ddof 0), as in the paper. Exact sums: no machine differs."""
    mean = math.fsum(fitness) / len(fitness)
    std = math.sqrt(math.fsum((r - mean) ** 2 for r in fitness) / len(fitness))
    return [(r - mean) / std for r in fitness]


def centred_ranks(fitness: Sequence[float]) -> list[float]:
    """Return ranks spread evenly over [−½, ½] (Salimans et al., arXiv 1703.03864); equals share their mean rank.

    Equal are values between which no gap is larger than the tolerance.
    """
    widest, ordered = tolerance(fitness), sorted(fitness)
    starts = [0] + [k for k, (low, high) in enumerate(pairwise(ordered), 1) if high - low > widest]
    ranks = dict[float, float]()
    for start, end in pairwise([*starts, len(ordered)]):
        ranks |= dict.fromkeys(ordered[start:end], (start + end - 1) / 2 / (len(fitness) - 1) - 0.5)
    return [ranks[r] for r in fitness]
