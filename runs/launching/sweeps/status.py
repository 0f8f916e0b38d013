"""Compute a sweep's status: its runs by state, how many wait, their spent hours and their estimated hours."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from runs.launching.budgets import Hours, estimated_hours, spent_hours
from runs.models import WAITING_STATES, Attempt, Hold, Run, Sweep
from workers.executors.states import OPEN_STATES, State


@dataclass(frozen=True)
class SweepStatus:
    """Status of a sweep. `states` holds pairs (state, number of runs), in the order of a run's life.

    `waiting` attempts are not released to their clusters yet, `queued` ones wait there, and `running` ones have begun.
    `leaving` counts those of `queued` that leave the queues of their clusters, because the sweep was paused.
    """

    sweep: Sweep
    states: list[tuple[str, int]]
    waiting: int
    queued: int
    leaving: int
    running: int
    spent: Hours
    estimated: Hours
    unknown: int
    """Number of runs without an estimate."""

    @property
    def total(self) -> int:
        """Return how many runs the sweep has."""
        return sum(n for _, n in self.states)

    @property
    def ended(self) -> int:
        """Return the number of the sweep's runs that are in a final state."""
        return sum(n for state, n in self.states if State(state) not in OPEN_STATES)

    @property
    def not_begun(self) -> int:
        """Return how many of the sweep's runs wait: in the sweep, or on their clusters."""
        return self.waiting + self.queued

    @property
    def word(self) -> str:
        """Return the sweep's own state: paused, running, cancelled or done."""
        if self.total and self.ended == self.total:
            return "cancelled" if self.sweep.cancelled_at else "done"
        return "paused" if self.sweep.paused_at else "running"

    @property
    def is_open(self) -> bool:
        """Return whether a run of the sweep has not ended."""
        return self.ended < self.total


_HELD, _NOT_BEGUN = Q(hold=Hold.SWEEP, state=State.CREATED), Q(state__in=WAITING_STATES)
COUNTS = {
    "waiting": Count("pk", _HELD),
    "queued": Count("pk", _NOT_BEGUN & Q(hold="")),
    "leaving": Count("pk", _NOT_BEGUN & Q(hold="", moves_to__isnull=False, cancel_requested_at=None)),
    "running": Count("pk", ~_NOT_BEGUN),
}
"""The counts of a sweep's open attempts."""


def sweep_status(sweep: Sweep) -> SweepStatus:
    """Return the status of a sweep. Four queries, however many runs it has."""
    runs = runs_of(sweep)
    counted = dict(runs.order_by().values_list("state").annotate(n=Count("pk")))
    attempts = Attempt.objects.filter(run__in=runs)
    estimated, unknown = estimated_hours(runs)
    return SweepStatus(
        sweep=sweep,
        states=[(state.value, counted[state.value]) for state in State if state.value in counted],
        **attempts.open().aggregate(**COUNTS),
        spent=spent_hours(attempts),
        estimated=estimated,
        unknown=unknown,
    )


def runs_of(sweep: Sweep) -> QuerySet[Run]:
    """Return the sweep's runs that are not in the trash."""
    return Run.objects.filter(sweep=sweep, deleted_at__isnull=True)
