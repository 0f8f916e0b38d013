"""The fitness that training raises: R − λ·C of each answer; its mean over the answers is mean(R) − λ·mean(C)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workers.config import SafetyOptions


def penalise(rewards: Sequence[float], costs: Sequence[float], weight: float, options: SafetyOptions) -> list[float]:
    """Return one number an answer. `standardise` comes first: it changes no sign, so safe-first sees the same
    answers."""
    if options.standardise:
        rewards, costs = _scale(rewards), _scale(costs)
    if options.safe_first:
        factor = options.safe_first_factor
        rewards = [factor * r if c > 0 else r for r, c in zip(rewards, costs, strict=True)]
    return [r - weight * c for r, c in zip(rewards, costs, strict=True)]


def _scale(numbers: Sequence[float]) -> Sequence[float]:
    """Divide by the standard deviation (ddof 0); return equal numbers unchanged."""
    mean = math.fsum(numbers) / len(numbers)
    std = math.sqrt(math.fsum((n - mean) ** 2 for n in numbers) / len(numbers))
    return [n / std for n in numbers] if std > 0 else numbers
