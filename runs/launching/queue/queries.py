"""Queries of the queue of all clusters: running and waiting attempts, with cluster, time and explanation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from runs.launching.budgets import Resources, resources_of
from runs.launching.submit_pauses import WAITING
from runs.models import Attempt, Cluster, Hold, Run
from runs.models.job import OPEN
from workers.executors.states import State

GOING_STATES = (State.STARTING, State.RUNNING, State.PAUSED, State.STOPPING)
AHEAD = re.compile(r"(?<!\d)(\d+) ahead in the (?:queue|line)")


@dataclass(frozen=True)
class Entry:
    """An attempt in the queue. `explained`: the meaning of its reason, or the next step; empty if both are clear."""

    attempt: Attempt
    explained: str
    position: int | None
    """Position among the attempts that wait for this machine, from 1; None on other clusters."""

    @property
    def run(self) -> Run:
        """Return the run of the attempt."""
        return self.attempt.run

    @property
    def since(self) -> datetime:
        """Return the time since which the attempt runs, or waits."""
        if self.is_going and self.attempt.started_at is not None:
            return self.attempt.started_at
        return self.attempt.submit_started_at or self.attempt.created_at

    @property
    def is_going(self) -> bool:
        """Return whether the attempt has begun on its cluster."""
        return State(self.attempt.state) in GOING_STATES

    @property
    def is_held(self) -> bool:
        """Return whether a user holds the attempt."""
        return self.attempt.hold == Hold.PERSON

    @property
    def may_wait_elsewhere(self) -> bool:
        """Return whether the attempt can be held, released or moved."""
        is_leaving = self.attempt.cancel_requested_at is not None or self.attempt.restart_at is not None
        return not self.is_going and not is_leaving

    @property
    def resources(self) -> Resources:
        """Return the nodes that the run requests, with their GPUs and cores, and the planned share of one."""
        return resources_of(self.run.config, self.attempt)


def queued_attempts(runs: QuerySet[Run], cluster: str = "") -> QuerySet[Attempt]:
    """Return the attempts of these runs that run, wait, or move to another cluster; of one cluster if it is named."""
    is_queued = Q(state__in=OPEN) | Q(restart_at__isnull=False) | Q(moves_to__isnull=False, state=State.CANCELLED)
    attempts = Attempt.objects.filter(is_queued, run__in=runs, cluster__isnull=False)
    return attempts.filter(cluster__name=cluster) if cluster else attempts


def order_attempts(attempts: QuerySet[Attempt], *, going: bool) -> QuerySet[Attempt]:
    """Return the running attempts, the newest first; or the waiting ones, the oldest first."""
    near = ("run__experiment", "run__created_by", "run__sweep", "cluster", "moves_to")
    related = attempts.select_related(*near)
    states = [state.value for state in GOING_STATES]
    if going:
        return related.filter(state__in=states).order_by("-started_at", "-pk")
    return related.exclude(state__in=states).order_by("created_at", "pk")


def entry_of(attempt: Attempt) -> Entry:
    """Return the attempt's entry in the queue."""
    return Entry(attempt, _explain(attempt), _position(attempt))


def _position(attempt: Attempt) -> int | None:
    if attempt.state != State.QUEUED.value or attempt.cluster is None or attempt.cluster.kind != "local":
        return None
    match = AHEAD.search(attempt.reason)
    return 1 + (int(match[1]) if match else 0)


def _explain(attempt: Attempt) -> str:
    """Explain what the attempt waits for: the first reason that applies, or an empty text."""
    if attempt.moves_to is not None and attempt.moves_held:
        return gettext("It is being removed from its cluster, to be held.")
    if attempt.moves_to is not None and attempt.moves_to_id == attempt.cluster_id:
        return gettext("Its sweep is paused: it leaves the queue of %(cluster)s.") % {"cluster": attempt.moves_to}
    if attempt.moves_to is not None:
        return gettext("It is moving to %(cluster)s.") % {"cluster": attempt.moves_to}
    if attempt.restart_at is not None:
        return gettext("It ended and restarts automatically.")
    if attempt.hold:
        return _explain_hold(attempt)
    return _explain_wait(attempt, attempt.cluster)


def _explain_hold(attempt: Attempt) -> str:
    sweep = attempt.run.sweep
    if attempt.hold == Hold.PERSON or sweep is None:
        return gettext("It goes to its cluster when a user releases it.")
    if sweep.paused_at is not None:
        return gettext("Its sweep is paused. It continues when the sweep is resumed.")
    return gettext("Its sweep runs %(n)s at a time. It starts when another of them has ended.") % {"n": sweep.at_once}


def _explain_wait(attempt: Attempt, cluster: Cluster | None) -> str:
    if cluster is not None and cluster.unreachable_since_at is not None:
        return gettext("%(cluster)s is unreachable; esweb retries every few seconds.") % {"cluster": cluster}
    if attempt.state == State.SUBMITTING.value and attempt.reason.startswith(WAITING):
        return ""
    if attempt.state in (State.CREATED.value, State.SUBMITTING.value):
        return gettext("It is being submitted to its cluster.")
    if attempt.state == State.QUEUED.value and cluster is not None and cluster.kind == "local":
        return gettext("This machine starts waiting runs in order, as resources become free.")
    return ""
