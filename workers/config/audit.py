"""Settings of method audit: how the reward of the section task is attacked, and with which model, if any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from workers.config.decode import Problem
from workers.config.fields import Bounds

MIN_MEMBERS = 2
"""Fewest members of a population: the member with the highest reward is chosen among them."""


@dataclass(frozen=True)
class AuditConfig:
    """Audit of a task's reward before training: attacks without a model, and with model.path if samples or members are
    set."""

    prompts: Annotated[int, Bounds(at_least=1, at_most=10_000)] = 32
    """Training prompts that are attacked, a random selection by the seed. If the task has fewer, all of them."""
    seconds: Annotated[float, Bounds(above=0, at_most=86_400)] = 600.0
    """Time limit of the attacks without a model, in seconds. Attacks that are left then are reported as not made."""
    samples: Annotated[int, Bounds(at_least=0, at_most=1024)] = 0
    """Responses sampled per prompt, of which the one with the highest reward counts (best of k); 0 leaves it out."""
    temperature: Annotated[float, Bounds(above=0, at_most=100)] = 1.5
    """Temperature of these samples."""
    members: Annotated[int, Bounds(at_least=0, at_most=1024)] = 0
    """Members θ + σε of an ES population, of which the one with the highest reward counts; 0 leaves them out."""
    sigma: Annotated[float, Bounds(above=0, at_most=10)] = 0.02
    """Standard deviation σ of their noise: larger than in training, to reach what a training reaches later."""
    max_new_tokens: Annotated[int, Bounds(at_least=1, at_most=100_000)] = 64
    """Maximum length of the model's responses, in tokens."""

    def problems(self) -> Iterator[Problem]:
        if 0 < self.members < MIN_MEMBERS:
            yield Problem("members", f"must be 0 or at least {MIN_MEMBERS}, not {self.members}")

    @property
    def asks_model(self) -> bool:
        """Return whether the audit needs the model."""
        return bool(self.samples or self.members)
