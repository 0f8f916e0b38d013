"""A sweep on the launch form: what it would be, said while it is filled in, and its launch."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from runs.launching.budgets import Hours, hours_of, total
from runs.launching.config_form import LaunchForm
from runs.launching.create import check_hours
from runs.launching.sweeps.commands import launch_sweep, plan_sweep
from runs.launching.sweeps.forms import SweepForm
from runs.launching.sweeps.plan import Planned, label
from runs.models import Experiment, Sweep
from workers.config import ConfigError

FIRST = 5


@dataclass(frozen=True)
class SweepPlan:
    """How many runs it has in how many cells and seeds, and what those with an estimate cost together.

    seconds: how long it takes with so many at a time, by the same estimates.
    """

    runs: list[Planned]
    at_once: int
    estimated: Hours
    seconds: float
    unknown: int

    @property
    def cells(self) -> int:
        """How many combinations of values it has."""
        return len({label(one.cell) for one in self.runs})

    @property
    def seeds(self) -> int:
        """How often each of them is run."""
        return len({one.seed for one in self.runs})

    @property
    def first(self) -> list[tuple[str, int]]:
        """The first runs: cell and seed."""
        return [(label(one.cell), one.seed) for one in self.runs[:FIRST]]


def plan(person: User, experiment: Experiment, form: LaunchForm, swept: SweepForm) -> SweepPlan | None:
    """What a launch would make; None, and every problem at its field, where it would make nothing."""
    try:
        new = swept.sweep(form)
        runs = plan_sweep(new, person)
        demands = check_hours(person, experiment, [one.config for one in runs], new.preset)
    except ConfigError as error:
        form.blame(swept.blame(error.problems))
        return None
    known = [(demand.config, demand.seconds) for demand in demands if demand.seconds is not None]
    return SweepPlan(
        runs=runs,
        at_once=new.at_once,
        estimated=total(hours_of(config, seconds) for config, seconds in known),
        seconds=sum(seconds for _, seconds in known) / min(new.at_once, max(len(runs), 1)),
        unknown=len(runs) - len(known),
    )


def launched(person: User, experiment: Experiment, form: LaunchForm, swept: SweepForm) -> Sweep | None:
    """The sweep; None, and every problem at its field, where nothing was made."""
    try:
        return launch_sweep(swept.sweep(form), experiment, person)
    except ConfigError as error:
        form.blame(swept.blame(error.problems))
        return None
