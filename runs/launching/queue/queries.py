"""What runs and what waits, on which cluster, since when and why: the queue of all clusters, as people read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from runs.models import Attempt, Cluster, Hold, Run
from runs.models.job import OPEN
from workers.executors.states import State

GOING = (State.STARTING, State.RUNNING, State.PAUSED, State.STOPPING)
AHEAD = re.compile(r"(\d+) ahead in the line")


@dataclass(frozen=True)
class Entry:
    """An attempt in the queue. `explained`: what its reason means, or what can be done; empty where both are clear."""

    attempt: Attempt
    explained: str
    position: int | None
    """Its place among those that wait for this machine, from 1; other clusters do not say."""

    @property
    def run(self) -> Run:
        """What it is an attempt of."""
        return self.attempt.run

    @property
    def since(self) -> datetime:
        """Since when it runs, or waits."""
        if self.is_going and self.attempt.started_at is not None:
            return self.attempt.started_at
        return self.attempt.submit_started_at or self.attempt.created_at

    @property
    def is_going(self) -> bool:
        """True where its cluster has begun with it."""
        return State(self.attempt.state) in GOING

    @property
    def is_held(self) -> bool:
        """True where a person holds it."""
        return self.attempt.hold == Hold.PERSON

    @property
    def may_wait_elsewhere(self) -> bool:
        """True where it can be held, released or moved."""
        is_leaving = self.attempt.cancel_requested_at is not None or self.attempt.restart_at is not None
        return not self.is_going and not is_leaving

    @property
    def resources(self) -> tuple[int, int]:
        """GPUs and cores that it asks for."""
        compute = self.run.config.get("compute", {})
        return int(compute.get("gpus", 0)), int(compute.get("cores", 1))


def queued(runs: QuerySet[Run], cluster: str = "") -> QuerySet[Attempt]:
    """Attempts of these runs that run, wait, or are on their way to another place."""
    waits = Q(state__in=OPEN) | Q(restart_at__isnull=False) | Q(moves_to__isnull=False, state=State.CANCELLED)
    found = Attempt.objects.filter(waits, run__in=runs, cluster__isnull=False)
    return found.filter(cluster__name=cluster) if cluster else found


def ordered(attempts: QuerySet[Attempt], *, going: bool) -> QuerySet[Attempt]:
    """Those that run, the newest first; or those that wait, the oldest first."""
    near = ("run__experiment", "run__created_by", "run__sweep", "cluster", "moves_to")
    found = attempts.select_related(*near)
    states = [state.value for state in GOING]
    if going:
        return found.filter(state__in=states).order_by("-started_at", "-pk")
    return found.exclude(state__in=states).order_by("created_at", "pk")


def entry_of(attempt: Attempt) -> Entry:
    """The attempt as the queue shows it."""
    return Entry(attempt, _explained(attempt), _position(attempt))


def _position(attempt: Attempt) -> int | None:
    if attempt.state != State.QUEUED.value or attempt.cluster is None or attempt.cluster.kind != "local":
        return None
    found = AHEAD.search(attempt.reason)
    return 1 + (int(found[1]) if found else 0)


def _explained(attempt: Attempt) -> str:
    """The first that fits of all that a run may wait for."""
    if attempt.moves_to is not None and attempt.moves_held:
        return gettext("It is taken off its cluster, to be held.")
    if attempt.moves_to is not None:
        return gettext("It is on its way to %(cluster)s.") % {"cluster": attempt.moves_to}
    if attempt.restart_at is not None:
        return gettext("It ended, and starts again by itself.")
    if attempt.hold:
        return _held(attempt)
    return _at_its_cluster(attempt, attempt.cluster)


def _held(attempt: Attempt) -> str:
    sweep = attempt.run.sweep
    if attempt.hold == Hold.PERSON or sweep is None:
        return gettext("It goes to its cluster once somebody releases it.")
    if sweep.paused_at is not None:
        return gettext("Its sweep is paused: it goes on once that is resumed.")
    return gettext("Its sweep runs %(n)s at a time: it goes when another of them has ended.") % {"n": sweep.at_once}


def _at_its_cluster(attempt: Attempt, cluster: Cluster | None) -> str:
    if cluster is not None and cluster.unreachable_since_at is not None:
        return gettext("%(cluster)s does not answer; it is asked again every few seconds.") % {"cluster": cluster}
    if attempt.state in (State.CREATED.value, State.SUBMITTING.value):
        return gettext("It is being handed to its cluster.")
    if attempt.state == State.QUEUED.value and cluster is not None and cluster.kind == "local":
        return gettext("This machine starts what waits in order, as soon as it has room.")
    return ""
