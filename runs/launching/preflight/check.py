"""Check a launch before it starts. Nothing is created, and no cluster is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.contrib.auth.models import User

from runs.launching.budgets import Estimate, Estimator, Hours, hours_of, total
from runs.launching.gpu_memory import GpuMemory, Models, largest_plan, plan_gpu_memory
from runs.launching.preflight.disk import LaunchDisk, plan_launch_disk
from runs.launching.preflight.needs import LaunchNeed, check_launch_needs
from workers.config import RunConfig


@dataclass(frozen=True)
class LaunchHours:
    """Estimated durations of the runs of a launch, by past runs. `longest`: the estimate of the run that takes longest.

    `cost`: the hours of all runs with an estimate, None without one. `unknown`: the number of runs without.
    """

    longest: Estimate | None
    cost: Hours | None
    unknown: int


@dataclass(frozen=True)
class Preflight:
    """Resources that the runs of a launch will need. `memory` is that of the run that needs most."""

    memory: GpuMemory
    disk: LaunchDisk
    hours: LaunchHours
    needs: list[LaunchNeed]

    @property
    def problems(self) -> int:
        """Return how many things are missing or do not fit."""
        too_small = bool(self.memory.cards) and not self.memory.fitting
        return too_small + (not self.disk.fits) + sum(need.state == "missing" for need in self.needs)

    @property
    def unknown(self) -> int:
        """Return how many things can only be known on the cluster."""
        without_plan = self.memory.on_gpus and not self.memory.cards
        return without_plan + bool(self.disk.reason) + sum(need.state == "unknown" for need in self.needs)

    @property
    def verdict(self) -> Literal["ready", "unknown", "problem"]:
        """Return problem if something is missing or does not fit, and unknown if something cannot be checked here."""
        return "problem" if self.problems else "unknown" if self.unknown else "ready"


def check_launch(configs: Sequence[RunConfig], person: User, preset: str = "") -> Preflight:
    """Check the runs of a launch that `check_config` or `plan_sweep` accepts: one or more configs.

    Raise ConfigError for an unknown cluster.
    """
    models = Models(person)
    memory = largest_plan(plan_gpu_memory(configs, person, models)) or GpuMemory(on_gpus=False)
    return Preflight(
        memory,
        plan_launch_disk(configs, models),
        _hours(configs, person, preset),
        check_launch_needs(configs, person, models),
    )


def _hours(configs: Sequence[RunConfig], person: User, preset: str) -> LaunchHours:
    estimator = Estimator(person)
    estimates = [(config, estimator.estimate(config, preset)) for config in configs]
    with_estimate = [(config, estimate) for config, estimate in estimates if estimate is not None]
    longest = max((estimate for _, estimate in with_estimate), key=lambda e: e.median, default=None)
    hours = [hours_of(config, estimate.median, estimate.gpu_share) for config, estimate in with_estimate]
    cost = total(hours) if hours else None
    return LaunchHours(longest, cost, len(configs) - len(with_estimate))
