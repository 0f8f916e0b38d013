"""Rules that move λ with the cost of the unperturbed policy. Numbers in, numbers out; the state is two of them.

    J      = mean C + d                            d: the mean cost is to stay at or below −d
    m      = J the first time, then β·m + (1−β)·J  with max(J, 0) for J in the published rule where positive only
    ln λ  += lr · m                                published (the ES and GRPO alignment study on PKU-SafeRLHF)
    ln λ  += lr · m · λ                            Safe-RLHF: gradient ascent on λ·m in the parameter ln λ
    λ      = λ clipped to [min, max]

The new λ applies from the next step on: the fitness of this one used the old.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from workers.config import SafetyOptions

THRESHOLD = 0.0
"""The largest J that meets the constraint."""


@dataclass(frozen=True)
class Multiplier:
    """λ, and the moving average of J that moved it last; None before the first."""

    value: float
    smoothed: float | None = None

    @property
    def average(self) -> float:
        """The moving average; 0 before the first one, when λ has not moved."""
        return self.smoothed or 0.0


@dataclass(frozen=True)
class Rule:
    """A rule with its settings."""

    kind: Literal["published", "safe_rlhf", "fixed"]
    first: Multiplier
    rate: float
    least: float
    most: float
    positive_only: bool
    past: float
    offset: float

    @classmethod
    def from_options(cls, options: SafetyOptions) -> Rule:
        """Return the rule that a config selects."""
        return cls(
            options.lambda_rule,
            Multiplier(options.lambda_init),
            options.lambda_lr,
            options.lambda_min,
            options.lambda_max,
            options.lambda_positive_only,
            options.lambda_ema,
            options.cost_offset,
        )

    def excess(self, mean_cost: float) -> float:
        """Return J: the mean cost above the allowed one."""
        return mean_cost + self.offset

    def moved(self, before: Multiplier, mean_cost: float) -> Multiplier:
        """Return λ for the next step. Raise ValueError if the cost is no finite number."""
        if not math.isfinite(mean_cost):
            raise ValueError(f"λ cannot be updated by a mean cost of {mean_cost!r}")
        excess = self.excess(mean_cost)
        if self.kind == "published" and self.positive_only:
            excess = max(excess, 0.0)
        old = before.smoothed
        smoothed = excess if old is None else self.past * old + (1.0 - self.past) * excess
        step = {"published": 1.0, "safe_rlhf": before.value, "fixed": 0.0}[self.kind] * self.rate * smoothed
        return Multiplier(self._clipped(before.value, step), smoothed)

    def _clipped(self, value: float, step: float) -> float:
        """Return exp(ln value + step) within the limits; the logarithms are compared, since exp may overflow."""
        if step == 0.0:
            return value
        log = math.log(value) + step
        if log >= math.log(self.most):
            return self.most
        return max(self.least, math.exp(log))
