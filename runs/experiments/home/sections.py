"""The runs on the home page: what runs now, what waits and for what, what went wrong and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from runs.access import may_launch, may_resume
from runs.compare import run_table
from runs.compare.run_table import Row, Vocabulary, rows_of
from runs.launching import resume_refusal
from runs.models import Attempt, Run
from workers.executors.states import State

SHOWN = 8
EXPERIMENTS_NAMED = 6
GOING = (State.STARTING, State.RUNNING, State.STOPPING)
WAITING = (State.CREATED, State.SUBMITTING, State.QUEUED, State.PAUSED)
WRONG = (
    State.FAILED, State.OOM, State.TIMEOUT, State.LOST, State.NODE_LOST, State.PREEMPTED, State.INTERRUPTED,
)  # fmt: skip
NEIGHBOURS = ("run__experiment", "run__created_by", "run__source")
COLUMNS = tuple(filter(None, map(Vocabulary(()).column, ("state", "method", "step", "reward/mean", "kl", "time"))))


@dataclass(frozen=True)
class Share:
    """The part of a section that an experiment has, and the address of the table of just those runs."""

    name: str
    n: int
    address: str


@dataclass(frozen=True)
class Section:
    """Runs that stand alike, by their newest attempts: the first few, and how many there are in which experiments."""

    shown: list[Attempt]
    shares: list[Share]

    @property
    def total(self) -> int:
        return sum(share.n for share in self.shares)

    @property
    def rest(self) -> list[Share]:
        """Where those are that are not shown; nothing where all are."""
        return self.shares[:EXPERIMENTS_NAMED] if self.total > len(self.shown) else []

    @property
    def runs(self) -> list[Run]:
        return [attempt.run for attempt in self.shown]

    @property
    def rows(self) -> list[Row]:
        """The shown runs with how far they are and what they measured last. Four queries."""
        return rows_of(self.runs, COLUMNS)


@dataclass(frozen=True)
class Failure:
    """A run that went wrong, and what this person can do about it."""

    attempt: Attempt
    may_resume: bool
    may_launch: bool


def seen_on_home(person: User, mine: bool) -> QuerySet[Run]:
    """The runs that the home page speaks of: what lists show this person; with `mine` what they own or launched."""
    runs = Run.objects.visible_to(person).current().filter(experiment__archived_at__isnull=True)
    return runs.filter(Q(created_by=person) | Q(experiment__owner=person)) if mine else runs


def going(runs: QuerySet[Run]) -> Section:
    """What runs now, the newest first."""
    return _section(Attempt.objects.filter(run__in=runs, state__in=GOING), GOING, "-run_id")


def waiting(runs: QuerySet[Run]) -> Section:
    """What will run, in the order in which it was asked for: queued, or ended and to start again by itself."""
    waits = Q(state__in=WAITING) | Q(restart_at__isnull=False)
    return _section(Attempt.objects.filter(waits, run__in=runs), WAITING, "created_at", "pk")


def wrong(runs: QuerySet[Run], since: datetime) -> Section:
    """What ended otherwise than it should and stays so, the newest first."""
    later = Attempt.objects.filter(run=OuterRef("run"), n__gt=OuterRef("n"))
    ended = Attempt.objects.filter(run__in=runs, state__in=WRONG, restart_at__isnull=True, ended_at__gte=since)
    return _section(ended.filter(~Exists(later)), WRONG, "-ended_at", "-pk")


def failures(section: Section, person: User) -> list[Failure]:
    """The shown ones of those that went wrong."""
    return [_failure(attempt, person) for attempt in section.shown]


def _failure(attempt: Attempt, person: User) -> Failure:
    run = attempt.run
    resumable = may_resume(person, run) and not resume_refusal(run)
    return Failure(attempt, resumable, may_launch(person, run.experiment))


def _section(attempts: QuerySet[Attempt], states: tuple[State, ...], *order: str) -> Section:
    # By their ids first: thousands are sorted without their configs and reasons.
    first = list(attempts.order_by(*order).values_list("pk", flat=True)[:SHOWN])
    found = Attempt.objects.select_related(*NEIGHBOURS).in_bulk(first)
    by_experiment = attempts.order_by().values_list("run__experiment_id", "run__experiment__name")
    counted = by_experiment.annotate(n=Count("pk")).order_by("-n", "-run__experiment_id")
    return Section([found[pk] for pk in first], [Share(name, n, runs_in(pk, states)) for pk, name, n in counted])


def runs_in(experiment: int, states: tuple[State, ...]) -> str:
    """The address of an experiment's runs in these states."""
    query = run_table.written("state", ":", *(state.value for state in states))
    return f"{reverse('experiment', args=[experiment])}?q={quote(query, safe=':,')}"
