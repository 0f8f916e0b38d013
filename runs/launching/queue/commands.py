"""Holds attempts that wait, lets them go, and moves them to another cluster.

A job that a cluster has is taken out of its hands by a cancel and by nothing else. So to move or hold one that waits
there is to cancel it, with a note of what comes next; once it has ended as cancelled, a tick makes the next attempt,
under the run's own lock and once. Had it begun meanwhile, that goes on from its checkpoint; had it come to another end,
nothing follows.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from runs.enqueue import on_commit
from runs.launching.cancel import wish_to_end
from runs.launching.create import check, forget_moves, held_by_sweep, new_attempt
from runs.launching.transitions import mark
from runs.models import Attempt, Cluster, Hold, Origin, Run
from workers.config import ConfigError, RunConfig
from workers.executors.states import State

WAITING = (State.CREATED, State.SUBMITTING, State.QUEUED)
HELD = "held until somebody releases it"


class CannotMove(ValueError):
    """What cannot be held, let go or moved as things stand. The message says why."""


def hold_run(run: Run, person: User) -> Attempt:
    """Keep a waiting run from its cluster until somebody releases it. Raise CannotMove if it does not wait."""
    with transaction.atomic():
        attempt = _waiting(run, gettext("held"))
        if attempt.hold == Hold.PERSON:
            raise CannotMove(gettext("%(name)s is held already") % {"name": run.name})
        if attempt.hold:
            mark(attempt, hold=Hold.PERSON.value, reason=HELD)
            attempt.note(f"held by {person.get_username()}")
        elif attempt.cluster is not None:
            _send(attempt, attempt.cluster, person, held=True)
        on_commit("cancel_attempt", attempt.pk)
    return attempt


def release_run(run: Run, person: User) -> Attempt:
    """Release a run that somebody holds; one of a sweep starts when its turn has come. Raise CannotMove."""
    with transaction.atomic():
        attempt = _waiting(run, gettext("released"))
        if attempt.hold != Hold.PERSON:
            raise CannotMove(gettext("%(name)s is not held") % {"name": run.name})
        mark(attempt, **(held_by_sweep(run) or {"hold": "", "reason": ""}))
        attempt.note(f"released by {person.get_username()}")
        if attempt.cluster_id is not None:
            on_commit("tick_cluster", attempt.cluster_id)
    return attempt


def move_run(run: Run, name: str, person: User) -> Attempt:
    """Move a waiting run to the cluster of that name. Raise CannotMove, or ConfigError if there is no such cluster."""
    with transaction.atomic():
        attempt = _waiting(run, gettext("moved"))
        cluster = check(RunConfig.from_json(_elsewhere(run, name)), run.created_by)
        if cluster == attempt.cluster:
            raise CannotMove(gettext("%(name)s is on %(cluster)s already") % {"name": run.name, "cluster": name})
        _send(attempt, cluster, person, held=attempt.hold == Hold.PERSON)
        on_commit("cancel_attempt", attempt.pk)
    return attempt


def arrive(cluster: Cluster) -> list[Attempt]:
    """Makes the attempts that follow those which were cancelled on this cluster to be moved. Safe to repeat, and to run
    twice at once."""
    left = Attempt.objects.filter(moves_to__isnull=False, cluster=cluster, state=State.CANCELLED.value)
    return [made for attempt in left.select_related("run").order_by("pk") if (made := _arrive(attempt)) is not None]


def _waiting(run: Run, what: str) -> Attempt:
    """The run's open attempt, its row locked. Raises CannotMove where that does not wait."""
    open_ones = run.attempts.open().select_related("run", "cluster").select_for_update(of=("self",))
    attempt = open_ones.order_by("-n").first()
    said = {"name": run.name, "what": what, "state": run.state}
    if attempt is None:
        raise CannotMove(gettext("%(name)s has ended: %(state)s; only what waits can be %(what)s") % said)
    if State(attempt.state) not in WAITING:
        raise CannotMove(gettext("%(name)s does not wait: it is %(state)s; only what waits can be %(what)s") % said)
    if attempt.cancel_requested_at is not None:
        raise CannotMove(gettext("%(name)s is being cancelled already, or on its way to another place") % said)
    return attempt


def _send(attempt: Attempt, cluster: Cluster, person: User, *, held: bool) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(moves_to=cluster, moves_held=held)
    where = f"to be held on {cluster}" if held else f"to move to {cluster}"
    attempt.note(f"{where}, asked for by {person.get_username()}")
    wish_to_end(attempt, person)


def _arrive(attempt: Attempt) -> Attempt | None:
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=attempt.run_id)
        left = Attempt.objects.select_for_update().filter(pk=attempt.pk, moves_to__isnull=False).first()
        if left is None or left.moves_to is None:
            return None
        run.config = _elsewhere(run, left.moves_to.name)
        run.save(update_fields=["config"])
        try:
            made = new_attempt(run, f"taken off {left.cluster}", Origin.RESUME)
        except ConfigError as error:
            forget_moves(run)
            left.note(f"not moved: {'; '.join(map(str, error.problems))}", "warning")
            return None
        if left.moves_held:
            mark(made, hold=Hold.PERSON.value, reason=HELD)
    return made


def _elsewhere(run: Run, cluster: str) -> dict[str, object]:
    # A partition is one of its cluster.
    return {**run.config, "compute": {**run.config["compute"], "cluster": cluster, "partition": ""}}
