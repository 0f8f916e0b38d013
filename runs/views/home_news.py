"""What changed since a moment, experiment by experiment, and what asks for somebody's attention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby

from django.contrib.auth.models import User
from django.db.models import Count, Max, QuerySet

from runs import edits
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Run
from runs.views.home_runs import runs_in
from workers.executors.states import OPEN_STATES, State

EXPERIMENTS_SHOWN = 12
GROUPS_READ = 200
ALERTS_SHOWN = 8
ALARMING = ("warning", "error")
FINAL = [state.value for state in State if state not in OPEN_STATES]


@dataclass(frozen=True)
class Ended:
    """So many runs of an experiment ended in a state; `address` is the table of those that are in it."""

    state: str
    n: int
    address: str


@dataclass(frozen=True)
class Change:
    """What somebody did, or what happened by itself where there is no `who`."""

    at: datetime
    what: str
    who: str = ""
    ended: list[Ended] = field(default_factory=list)


@dataclass(frozen=True)
class News:
    """An experiment and what changed of it, the newest first."""

    experiment: Experiment
    changes: list[Change]


@dataclass(frozen=True)
class Alarm:
    """What a run says of itself: its last word of that kind, and how often it said something alike since."""

    event: AttemptEvent
    n: int


def news(person: User, runs: QuerySet[Run], since: datetime, mine: bool) -> list[News]:
    """The experiments that changed last. Seven queries."""
    experiments = Experiment.objects.visible_to(person)
    experiments = experiments.filter(owner=person) if mine else experiments
    found: dict[int, list[Change]] = defaultdict(list)
    of_experiments = chain(_made(experiments, since), _archived(experiments, since))
    of_runs = chain(_launched(runs, since), _ended(runs, since))
    for experiment, change in chain(of_experiments, of_runs, _edited(experiments, runs, since)):
        found[experiment].append(change)
    latest = sorted(found, key=lambda pk: max(change.at for change in found[pk]), reverse=True)[:EXPERIMENTS_SHOWN]
    of = Experiment.objects.select_related("owner").in_bulk(latest)
    return [News(of[pk], sorted(found[pk], key=lambda change: change.at, reverse=True)) for pk in latest]


def alarms(runs: QuerySet[Run], since: datetime) -> tuple[list[Alarm], int]:
    """Of the runs that warned of something last: the last warning; and how many runs warned. Three queries."""
    said = AttemptEvent.objects.filter(
        attempt__run__in=runs, at__gte=since, level__in=ALARMING, from_state="", to_state=""
    )
    by_run = said.order_by().values_list("attempt__run_id").annotate(n=Count("pk"), last=Max("pk"))
    counted = {last: n for _, n, last in by_run.order_by("-last")[:ALERTS_SHOWN]}
    events = AttemptEvent.objects.select_related("attempt__run__experiment").in_bulk(counted)
    return [Alarm(events[pk], n) for pk, n in counted.items()], by_run.count()


def unreachable() -> list[Cluster]:
    """Clusters that do not answer: what is said of their runs is old."""
    return list(Cluster.objects.filter(unreachable_since_at__isnull=False).order_by("unreachable_since_at"))


def _made(experiments: QuerySet[Experiment], since: datetime) -> Iterator[tuple[int, Change]]:
    made = experiments.filter(created_at__gte=since).order_by("-created_at")
    for pk, at, who in made.values_list("pk", "created_at", "owner__username")[:GROUPS_READ]:
        yield pk, Change(at, "made it", who)


def _archived(experiments: QuerySet[Experiment], since: datetime) -> Iterator[tuple[int, Change]]:
    archived = experiments.filter(archived_at__gte=since).order_by("-archived_at")
    for pk, at, who in archived.values_list("pk", "archived_at", "archived_by__username")[:GROUPS_READ]:
        yield pk, Change(at or since, "archived it", who or "somebody")


def _edited(experiments: QuerySet[Experiment], runs: QuerySet[Run], since: datetime) -> Iterator[tuple[int, Change]]:
    for edit in edits.since(since, experiments, runs):
        *others, last = edit.fields
        fields = f"{', '.join(others)} and {last}" if others else last
        yield edit.experiment, Change(edit.at, f"changed {fields}{f' of {edit.run}' if edit.run else ''}", edit.who)


def _launched(runs: QuerySet[Run], since: datetime) -> Iterator[tuple[int, Change]]:
    by = runs.filter(created_at__gte=since).order_by().values_list("experiment_id", "created_by__username")
    for pk, who, n, at in by.annotate(n=Count("pk"), at=Max("created_at")).order_by("-at")[:GROUPS_READ]:
        yield pk, Change(at, f"launched {n} run{'' if n == 1 else 's'}", who)


def _ended(runs: QuerySet[Run], since: datetime) -> Iterator[tuple[int, Change]]:
    last = Attempt.objects.filter(run__in=runs, ended_at__gte=since, run__state__in=FINAL).order_by()
    by = last.values_list("run__experiment_id", "run__state")
    counted = by.annotate(n=Count("run", distinct=True), at=Max("ended_at")).order_by("-at")[:GROUPS_READ]
    for pk, group in groupby(sorted(counted), key=lambda row: row[0]):
        rows = list(group)
        ended = [Ended(state, n, runs_in(pk, (State(state),))) for _, state, n, _ in rows]
        yield pk, Change(max(at for *_, at in rows), "ended", ended=ended)
