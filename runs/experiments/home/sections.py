"""Sections of the home page: runs that run now, runs that wait, and runs that failed, with reasons."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from django.contrib.auth.models import User
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from runs.access import may_launch, may_resume
from runs.compare import run_table
from runs.compare.run_table import Vocabulary
from runs.experiments.home.result_rows import ResultRow, result_rows
from runs.kinds import UNLISTED_METHODS
from runs.launching import resume_refusal
from runs.launching.config_form import can_be_cloned
from runs.models import Attempt, Run
from runs.models.experiment import RunQuerySet
from workers.analysis.keys import KL, REWARD
from workers.executors.states import State

MAX_ATTEMPTS = 8
MAX_SHARES = 6
RUNNING_STATES = (State.STARTING, State.RUNNING, State.STOPPING)
WAITING_STATES = (State.CREATED, State.SUBMITTING, State.QUEUED, State.PAUSED)
FAILED_STATES = (
    State.FAILED, State.OOM, State.TIMEOUT, State.LOST, State.NODE_LOST, State.PREEMPTED, State.INTERRUPTED,
)  # fmt: skip
FINAL = [state.value for state in State if state.is_final]
NEIGHBOURS = ("run__experiment", "run__created_by", "run__source", "run__external")
COLUMNS = tuple(filter(None, map(Vocabulary(()).column, ("state", "method", "step", REWARD, KL, "time"))))


@dataclass(frozen=True)
class Share:
    """The number of a section's runs in one experiment, and the address of the table of these runs."""

    name: str
    n: int
    address: str


@dataclass(frozen=True)
class Section:
    """A section of runs in similar states: the attempts of the first few, and the number of runs per experiment."""

    attempts: list[Attempt]
    shares: list[Share]

    @property
    def total(self) -> int:
        return sum(share.n for share in self.shares)

    @property
    def rest(self) -> list[Share]:
        """Return up to six experiments that have runs in this section, as links to the runs that it does not show.

        Empty if the section shows all its runs.
        """
        return self.shares[:MAX_SHARES] if self.total > len(self.attempts) else []

    @property
    def runs(self) -> list[Run]:
        return [attempt.run for attempt in self.attempts]

    @property
    def rows(self) -> list[ResultRow]:
        """Return table rows of the visible runs, with their progress and last measurements. Five queries."""
        return result_rows(self.runs, COLUMNS)


@dataclass(frozen=True)
class Failure:
    """A failed run, and whether this user may resume it, and may launch a run of its config again."""

    attempt: Attempt
    may_resume: bool
    may_launch: bool


def home_runs(person: User, own_only: bool) -> RunQuerySet:
    """Return the home page's runs that are visible to this user; with `own_only`, the runs that they own or
    launched."""
    runs = Run.objects.visible_to(person).current().filter(experiment__archived_at__isnull=True)
    return runs.filter(Q(created_by=person) | Q(experiment__owner=person)) if own_only else runs


def running_section(runs: QuerySet[Run]) -> Section:
    """Return the section of runs that run now, newest first."""
    return _section(Attempt.objects.filter(run__in=runs, state__in=RUNNING_STATES), RUNNING_STATES, "-run_id")


def waiting_section(runs: QuerySet[Run]) -> Section:
    """Return the section of runs that wait, in order of creation: queued, paused, or due to restart automatically."""
    waits = Q(state__in=WAITING_STATES) | Q(restart_at__isnull=False)
    return _section(Attempt.objects.filter(waits, run__in=runs), WAITING_STATES, "created_at", "pk")


def failed_section(runs: QuerySet[Run], since: datetime) -> Section:
    """Return the section of runs that failed after `since`, newest first, without those restarted or due to restart."""
    later = Attempt.objects.filter(run=OuterRef("run"), n__gt=OuterRef("n"))
    ended = Attempt.objects.filter(run__in=runs, state__in=FAILED_STATES, restart_at__isnull=True, ended_at__gte=since)
    return _section(ended.filter(~Exists(later)), FAILED_STATES, "-ended_at", "-pk")


def failures(section: Section, person: User) -> list[Failure]:
    """Return the section's visible runs with what this user may do about each."""
    return [_failure(attempt, person) for attempt in section.attempts]


def _failure(attempt: Attempt, person: User) -> Failure:
    run = attempt.run
    resumable = may_resume(person, run) and not resume_refusal(run)
    return Failure(attempt, resumable, may_launch(person, run.experiment) and can_be_cloned(run))


def _section(attempts: QuerySet[Attempt], states: tuple[State, ...], *order: str) -> Section:
    # By their ids first: thousands are sorted without their configs and reasons.
    first = list(attempts.order_by(*order).values_list("pk", flat=True)[:MAX_ATTEMPTS])
    attempts_by_id = Attempt.objects.select_related(*NEIGHBOURS).in_bulk(first)
    by_experiment = attempts.order_by().values_list("run__experiment_id", "run__experiment__name")
    methods = ArrayAgg("run__method", distinct=True)
    counted = by_experiment.annotate(n=Count("pk"), methods=methods).order_by("-n", "-run__experiment_id")
    shares = [Share(name, n, runs_in(pk, states, methods)) for pk, name, n, methods in counted]
    return Section([attempts_by_id[pk] for pk in first], shares)


def runs_in(experiment: int, states: tuple[State, ...], methods: Collection[str] = ()) -> str:
    """Return the address of the table of an experiment's runs in these states and of these methods. The methods are
    named only if those of unlisted kinds are among them, which the table leaves out otherwise."""
    query = run_table.format_term("state", ":", *(state.value for state in states))
    if not set(UNLISTED_METHODS).isdisjoint(methods):
        query += f" {run_table.format_term('method', ':', *methods)}"
    return f"{reverse('experiment', args=[experiment])}?q={quote(query, safe=':,')}"
