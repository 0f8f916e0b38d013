"""Changes since a time, by experiment, and alarms that need attention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby

from django.contrib.auth.models import User
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Max, QuerySet
from django.utils.translation import gettext, ngettext

from runs.experiments import audit_log
from runs.experiments.home.sections import FINAL, runs_in
from runs.flags import open_flags
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Flag, Run
from workers.executors.states import State

MAX_EXPERIMENTS = 12
MAX_GROUPS = 200
MAX_ALERTS = 8
ALARMING = ("warning", "error")


@dataclass(frozen=True)
class FinalStateCount:
    """The number of an experiment's runs that finished in a state; `address` is the address of the table of its runs in
    that state."""

    state: str
    n: int
    address: str


@dataclass(frozen=True)
class Change:
    """A change by a user, as a sentence; the sentence is empty if runs finished, which `ended` counts by state."""

    at: datetime
    sentence: str = ""
    ended: list[FinalStateCount] = field(default_factory=list)


@dataclass(frozen=True)
class News:
    """An experiment and its changes, the newest first."""

    experiment: Experiment
    changes: list[Change]


@dataclass(frozen=True)
class Alarm:
    """A run's last warning or error, and the number of its warnings and errors in the period."""

    event: AttemptEvent
    n: int


@dataclass(frozen=True)
class FlaggedRun:
    """A run with open flags, and the time of the newest."""

    run: Run
    at: datetime
    flags: list[Flag]


def news(person: User, runs: QuerySet[Run], since: datetime, own_only: bool) -> list[News]:
    """Return the experiments that changed last, with their changes. Seven queries."""
    experiments = Experiment.objects.visible_to(person)
    experiments = experiments.filter(owner=person) if own_only else experiments
    changes_by_experiment: dict[int, list[Change]] = defaultdict(list)
    me = person.get_username()
    of_experiments = chain(_creation_changes(experiments, since, me), _archive_changes(experiments, since, me))
    of_runs = chain(_launch_changes(runs, since, me), _end_changes(runs, since))
    for experiment, change in chain(of_experiments, of_runs, _edit_changes(experiments, runs, since, me)):
        changes_by_experiment[experiment].append(change)
    latest = sorted(
        changes_by_experiment, key=lambda pk: max(change.at for change in changes_by_experiment[pk]), reverse=True
    )[:MAX_EXPERIMENTS]
    experiments_by_id = Experiment.objects.select_related("owner").in_bulk(latest)
    return [
        News(experiments_by_id[pk], sorted(changes_by_experiment[pk], key=lambda change: change.at, reverse=True))
        for pk in latest
    ]


def alarms(runs: QuerySet[Run], since: datetime) -> tuple[list[Alarm], int]:
    """Return the last warning of each run that warned, and the number of such runs. Three queries."""
    warnings = AttemptEvent.objects.filter(
        attempt__run__in=runs, at__gte=since, level__in=ALARMING, from_state="", to_state=""
    )
    by_run = warnings.order_by().values_list("attempt__run_id").annotate(n=Count("pk"), last=Max("pk"))
    counted = {last: n for _, n, last in by_run.order_by("-last")[:MAX_ALERTS]}
    events = AttemptEvent.objects.select_related("attempt__run__experiment").in_bulk(counted)
    return [Alarm(events[pk], n) for pk, n in counted.items()], by_run.count()


def flagged(runs: QuerySet[Run], since: datetime) -> tuple[list[FlaggedRun], int]:
    """Return the runs that were flagged last with their open flags, and the number of such runs. Four queries."""
    detected = Flag.objects.open().filter(run__in=runs, detected_at__gte=since).order_by()
    by_run = detected.values_list("run_id").annotate(last=Max("detected_at")).order_by("-last", "-run_id")
    times = dict(by_run[:MAX_ALERTS])
    flags, rows = open_flags(times), Run.objects.select_related("experiment").in_bulk(times)
    shown = [FlaggedRun(rows[pk], at, flags[pk]) for pk, at in times.items() if pk in flags and pk in rows]
    return shown, by_run.count()


def unreachable() -> list[Cluster]:
    """Return the clusters that do not reply; the states of their runs are out of date."""
    return list(Cluster.objects.filter(unreachable_since_at__isnull=False).order_by("unreachable_since_at"))


def _creation_changes(experiments: QuerySet[Experiment], since: datetime, me: str) -> Iterator[tuple[int, Change]]:
    created = experiments.filter(created_at__gte=since).order_by("-created_at")
    for pk, at, who in created.values_list("pk", "created_at", "owner__username")[:MAX_GROUPS]:
        sentence = gettext("You created the experiment") if who == me else gettext("%(who)s created the experiment")
        yield pk, Change(at, sentence % {"who": who})


def _archive_changes(experiments: QuerySet[Experiment], since: datetime, me: str) -> Iterator[tuple[int, Change]]:
    archived = experiments.filter(archived_at__gte=since).order_by("-archived_at")
    for pk, at, who in archived.values_list("pk", "archived_at", "archived_by__username")[:MAX_GROUPS]:
        sentence = gettext("You archived the experiment") if who == me else gettext("%(who)s archived the experiment")
        yield pk, Change(at or since, sentence % {"who": who or gettext("an unknown user")})


def _edit_changes(
    experiments: QuerySet[Experiment], runs: QuerySet[Run], since: datetime, me: str
) -> Iterator[tuple[int, Change]]:
    for edit in audit_log.edits_since(since, experiments, runs):
        params = {"who": edit.who, "fields": _join_words([gettext(name) for name in edit.fields]), "run": edit.run}
        if edit.run:
            of_run = gettext("You changed %(fields)s of %(run)s"), gettext("%(who)s changed %(fields)s of %(run)s")
            yield edit.experiment, Change(edit.at, of_run[edit.who != me] % params)
        else:
            of_it = gettext("You changed %(fields)s"), gettext("%(who)s changed %(fields)s")
            yield edit.experiment, Change(edit.at, of_it[edit.who != me] % params)


def _join_words(words: list[str]) -> str:
    *others, last = words
    return gettext("%(others)s and %(last)s") % {"others": ", ".join(others), "last": last} if others else last


def _launch_changes(runs: QuerySet[Run], since: datetime, me: str) -> Iterator[tuple[int, Change]]:
    groups = runs.filter(created_at__gte=since).order_by().values_list("experiment_id", "created_by__username")
    for pk, who, n, at in groups.annotate(n=Count("pk"), at=Max("created_at")).order_by("-at")[:MAX_GROUPS]:
        own_sentence = ngettext("You launched %(n)s run", "You launched %(n)s runs", n)
        other_sentence = ngettext("%(who)s launched %(n)s run", "%(who)s launched %(n)s runs", n)
        yield pk, Change(at, (own_sentence if who == me else other_sentence) % {"who": who, "n": n})


def _end_changes(runs: QuerySet[Run], since: datetime) -> Iterator[tuple[int, Change]]:
    last = Attempt.objects.filter(run__in=runs, ended_at__gte=since, run__state__in=FINAL).order_by()
    groups = last.values_list("run__experiment_id", "run__state")
    methods = ArrayAgg("run__method", distinct=True)
    counted = groups.annotate(n=Count("run", distinct=True), methods=methods, at=Max("ended_at"))
    for pk, group in groupby(sorted(counted.order_by("-at")[:MAX_GROUPS]), key=lambda row: row[0]):
        rows = list(group)
        ended = [FinalStateCount(state, n, runs_in(pk, (State(state),), methods)) for _, state, n, methods, _ in rows]
        yield pk, Change(max(at for *_, at in rows), ended=ended)
