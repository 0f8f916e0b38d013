"""What is known of an interval that pages show: its name, its pages, the code that computes it, and simulations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

Rng: TypeAlias = np.random.Generator
Hits: TypeAlias = tuple[int, int]
"""How many simulated intervals hold the truth, and how many there are."""
Simulation: TypeAlias = Callable[[Rng], Hits]
ERRORS = 3.5
"""Monte Carlo errors that a coverage may be below its tolerance: 2 of 10 000 such differences are chance."""


@dataclass(frozen=True)
class Claim:
    """An interval, or the limit of a test, of which `coverage` is the share of simulated data for which it holds.

    where: the pages that show it. modules: modules that compute it from the primitives of test_list.py. cases: what n
    is -> a batch of simulations. nominal: what it claims. at_least: coverage that is required in every case; below
    `nominal` by what its page, or the guide, states. note: why it is below, or what the page says; required if at_least
    is less than USUAL below the nominal coverage.
    """

    name: str
    where: str
    modules: tuple[str, ...]
    cases: Mapping[str, Simulation] = field(hash=False)
    nominal: float = 0.95
    at_least: float = 0.92
    note: str = ""


USUAL = 0.03
"""Distance from the nominal coverage that needs no explanation: discrete data seldom have an exact interval."""


@dataclass
class Tally:
    """Simulations of one case so far."""

    claim: Claim
    case: str
    hits: int = 0
    draws: int = 0

    def add(self, hits: Hits) -> None:
        self.hits += hits[0]
        self.draws += hits[1]

    @property
    def coverage(self) -> float:
        return self.hits / self.draws if self.draws else math.nan

    @property
    def error(self) -> float:
        """Return the Monte Carlo standard error; with half a hit and half a miss more, so that it is never 0."""
        p = (self.hits + 0.5) / (self.draws + 1)
        return math.sqrt(p * (1 - p) / max(1, self.draws))

    @property
    def is_low(self) -> bool:
        """Return whether the coverage is significantly below the tolerance; a case without any draw is."""
        return not self.draws or self.coverage + ERRORS * self.error < self.claim.at_least

    @property
    def cells(self) -> tuple[str, ...]:
        claim = self.claim
        covered = f"{self.coverage:.3f} ± {self.error:.3f}"
        return (
            claim.name,
            claim.where,
            self.case,
            f"{claim.nominal:.3f}",
            covered,
            f"{claim.at_least:.2f}",
            claim.note,
        )


HEADER = ("interval", "shown on", "n", "nominal", "coverage", "at least", "note")


def batch(holds: Callable[[Rng], bool | None], size: int) -> Simulation:
    """Return the simulation of `size` draws of which each gives one interval; None if a draw gives no interval."""

    def simulate(rng: Rng) -> Hits:
        held = [is_held for _ in range(size) if (is_held := holds(rng)) is not None]
        return sum(held), len(held)

    return simulate


def is_between(low: float | None, true: float, high: float | None) -> bool | None:
    """Return whether an interval holds the truth; None if there is no interval."""
    return None if low is None or high is None else bool(low <= true + 1e-12 and true - 1e-12 <= high)
