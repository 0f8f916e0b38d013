"""How a sweep stands: the states of its runs, what waits, what it has cost and was estimated to cost."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, QuerySet

from runs.launching.budgets import Hours, expected, spent
from runs.models import Attempt, Hold, Run, Sweep
from workers.executors.states import OPEN_STATES, State


@dataclass(frozen=True)
class SweepStatus:
    """`states` are (state, how many runs), in the order of a run's life; `waiting` have not been let go yet."""

    sweep: Sweep
    states: list[tuple[str, int]]
    waiting: int
    spent: Hours
    estimated: Hours
    unknown: int
    """Runs without an estimate."""

    @property
    def total(self) -> int:
        """How many runs it has."""
        return sum(n for _, n in self.states)

    @property
    def ended(self) -> int:
        """How many of them have ended, however."""
        return sum(n for state, n in self.states if State(state) not in OPEN_STATES)

    @property
    def word(self) -> str:
        """The sweep's own state: paused, running, cancelled or done."""
        if self.total and self.ended == self.total:
            return "cancelled" if self.sweep.cancelled_at else "done"
        return "paused" if self.sweep.paused_at else "running"

    @property
    def is_open(self) -> bool:
        """True while a run of it has not ended."""
        return self.ended < self.total


def standing(sweep: Sweep) -> SweepStatus:
    """Four queries, however many runs."""
    runs = runs_of(sweep)
    counted = dict(runs.order_by().values_list("state").annotate(n=Count("pk")))
    attempts = Attempt.objects.filter(run__in=runs)
    estimated, unknown = expected(runs)
    return SweepStatus(
        sweep=sweep,
        states=[(state.value, counted[state.value]) for state in State if state.value in counted],
        waiting=attempts.held().filter(hold=Hold.SWEEP).count(),
        spent=spent(attempts),
        estimated=estimated,
        unknown=unknown,
    )


def runs_of(sweep: Sweep) -> QuerySet[Run]:
    """Its runs that are not in the bin."""
    return Run.objects.filter(sweep=sweep, deleted_at__isnull=True)
