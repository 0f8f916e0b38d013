"""What training raises: R − λ·C of each answer; its mean over the answers is mean(R) − λ·mean(C)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workers.config import SafetyOptions


def penalised(rewards: Sequence[float], costs: Sequence[float], weight: float, options: SafetyOptions) -> list[float]:
    """One number an answer. `standardise` comes first: it changes no sign, so safe-first sees the same answers."""
    if options.standardise:
        rewards, costs = _scaled(rewards), _scaled(costs)
    if options.safe_first:
        kept = options.safe_first_factor
        rewards = [kept * r if c > 0 else r for r, c in zip(rewards, costs, strict=True)]
    return [r - weight * c for r, c in zip(rewards, costs, strict=True)]


def _scaled(numbers: Sequence[float]) -> Sequence[float]:
    """Divided by their standard deviation (ddof 0); as they are where all are equal."""
    mean = math.fsum(numbers) / len(numbers)
    std = math.sqrt(math.fsum((n - mean) ** 2 for n in numbers) / len(numbers))
    return [n / std for n in numbers] if std > 0 else numbers
