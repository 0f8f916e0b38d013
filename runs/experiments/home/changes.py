"""What changed since a moment, experiment by experiment, and what asks for somebody's attention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby

from django.contrib.auth.models import User
from django.db.models import Count, Max, QuerySet
from django.utils.translation import gettext, ngettext

from runs.experiments import audit_log
from runs.experiments.home.sections import runs_in
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Run
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
    """What somebody did, as a sentence; or what happened by itself, where it is empty."""

    at: datetime
    what: str = ""
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
    me = person.get_username()
    of_experiments = chain(_made(experiments, since, me), _archived(experiments, since, me))
    of_runs = chain(_launched(runs, since, me), _ended(runs, since))
    for experiment, change in chain(of_experiments, of_runs, _edited(experiments, runs, since, me)):
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


def _made(experiments: QuerySet[Experiment], since: datetime, me: str) -> Iterator[tuple[int, Change]]:
    made = experiments.filter(created_at__gte=since).order_by("-created_at")
    for pk, at, who in made.values_list("pk", "created_at", "owner__username")[:GROUPS_READ]:
        said = gettext("You made it") if who == me else gettext("%(who)s made it")
        yield pk, Change(at, said % {"who": who})


def _archived(experiments: QuerySet[Experiment], since: datetime, me: str) -> Iterator[tuple[int, Change]]:
    archived = experiments.filter(archived_at__gte=since).order_by("-archived_at")
    for pk, at, who in archived.values_list("pk", "archived_at", "archived_by__username")[:GROUPS_READ]:
        said = gettext("You archived it") if who == me else gettext("%(who)s archived it")
        yield pk, Change(at or since, said % {"who": who or gettext("somebody")})


def _edited(
    experiments: QuerySet[Experiment], runs: QuerySet[Run], since: datetime, me: str
) -> Iterator[tuple[int, Change]]:
    for edit in audit_log.since(since, experiments, runs):
        said = {"who": edit.who, "fields": _listed([gettext(name) for name in edit.fields]), "run": edit.run}
        if edit.run:
            of_run = gettext("You changed %(fields)s of %(run)s"), gettext("%(who)s changed %(fields)s of %(run)s")
            yield edit.experiment, Change(edit.at, of_run[edit.who != me] % said)
        else:
            of_it = gettext("You changed %(fields)s"), gettext("%(who)s changed %(fields)s")
            yield edit.experiment, Change(edit.at, of_it[edit.who != me] % said)


def _listed(words: list[str]) -> str:
    *others, last = words
    return gettext("%(others)s and %(last)s") % {"others": ", ".join(others), "last": last} if others else last


def _launched(runs: QuerySet[Run], since: datetime, me: str) -> Iterator[tuple[int, Change]]:
    by = runs.filter(created_at__gte=since).order_by().values_list("experiment_id", "created_by__username")
    for pk, who, n, at in by.annotate(n=Count("pk"), at=Max("created_at")).order_by("-at")[:GROUPS_READ]:
        mine = ngettext("You launched %(n)s run", "You launched %(n)s runs", n)
        theirs = ngettext("%(who)s launched %(n)s run", "%(who)s launched %(n)s runs", n)
        yield pk, Change(at, (mine if who == me else theirs) % {"who": who, "n": n})


def _ended(runs: QuerySet[Run], since: datetime) -> Iterator[tuple[int, Change]]:
    last = Attempt.objects.filter(run__in=runs, ended_at__gte=since, run__state__in=FINAL).order_by()
    by = last.values_list("run__experiment_id", "run__state")
    counted = by.annotate(n=Count("run", distinct=True), at=Max("ended_at")).order_by("-at")[:GROUPS_READ]
    for pk, group in groupby(sorted(counted), key=lambda row: row[0]):
        rows = list(group)
        ended = [Ended(state, n, runs_in(pk, (State(state),))) for _, state, n, _ in rows]
        yield pk, Change(max(at for *_, at in rows), ended=ended)
