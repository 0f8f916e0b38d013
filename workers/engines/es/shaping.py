"""Fitness -> the weight zᵢ with which each member's noise enters the update. Plain numbers in, plain numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal


def shaped(fitness: Sequence[float], how: Literal["z_score", "centred_ranks"]) -> list[float]:
    """One weight a member; all 0 where every member has the same fitness: such an iteration is dead."""
    if max(fitness) == min(fitness):
        return [0.0] * len(fitness)
    return z_scores(fitness) if how == "z_score" else centred_ranks(fitness)


def z_scores(fitness: Sequence[float]) -> list[float]:
    """(r − mean) / std with the population's std (ddof 0), as in the paper. Sums are exact, so no machine differs."""
    mean = math.fsum(fitness) / len(fitness)
    std = math.sqrt(math.fsum((r - mean) ** 2 for r in fitness) / len(fitness))
    return [(r - mean) / std for r in fitness]


def centred_ranks(fitness: Sequence[float]) -> list[float]:
    """Ranks spread evenly over [−½, ½] (Salimans et al., arXiv 1703.03864); equals share the mean of their ranks."""
    ordered = sorted(fitness)
    first = {r: len(ordered) - 1 - i for i, r in enumerate(reversed(ordered))}
    last = {r: i for i, r in enumerate(ordered)}
    return [(first[r] + last[r]) / 2 / (len(fitness) - 1) - 0.5 for r in fitness]
