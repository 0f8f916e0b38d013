"""Hold waiting attempts, release them, and move them to another cluster.

A job can be withdrawn from a cluster only by a cancel. So to move or hold a job that waits there, it is cancelled with
a note of the next step. After it has ended as cancelled, a tick creates the next attempt, once, under the run's lock.
If the job had begun meanwhile, the next attempt resumes from its checkpoint; after any other end, nothing follows.
A job of a paused sweep is withdrawn instead (`sweeps.pause`): one that has begun meanwhile continues.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from runs.enqueue import on_commit
from runs.launching.cancel import request_end
from runs.launching.create import check_config, clear_moves, held_by_sweep, new_attempt
from runs.launching.queue.queries import GOING_STATES
from runs.launching.transitions import publish, update_facts
from runs.models import WAITING_STATES, Attempt, Cluster, Hold, Origin, Run
from workers.config import ConfigError, RunConfig
from workers.executors.states import State

HOLD_REASON = "held until a user releases it"
STARTED_MEANWHILE = "it had started when its sweep was paused, so it continued"


class CannotMove(ValueError):
    """Error for an attempt that cannot be held, released or moved now. The message is the reason."""


def hold_run(run: Run, person: User) -> Attempt:
    """Hold a waiting run back from its cluster until a user releases it. Raise CannotMove if it does not wait."""
    with transaction.atomic():
        attempt = _lock_waiting(run, gettext("held"))
        if attempt.hold == Hold.PERSON:
            raise CannotMove(gettext("%(name)s is already held") % {"name": run.name})
        if attempt.hold:
            update_facts(attempt, hold=Hold.PERSON.value, reason=HOLD_REASON)
            attempt.note(f"held by {person.get_username()}")
        elif attempt.cluster is not None:
            _request_move(attempt, attempt.cluster, person, is_held=True)
        on_commit("cancel_attempt", attempt.pk)
    return attempt


def release_run(run: Run, person: User) -> Attempt:
    """Release a held run; a run of a sweep then waits for its turn. Raise CannotMove if it is not held."""
    with transaction.atomic():
        attempt = _lock_waiting(run, gettext("released"))
        if attempt.hold != Hold.PERSON:
            raise CannotMove(gettext("%(name)s is not held") % {"name": run.name})
        update_facts(attempt, **(held_by_sweep(run) or {"hold": "", "reason": ""}))
        attempt.note(f"released by {person.get_username()}")
        if attempt.cluster_id is not None:
            on_commit("tick_cluster", attempt.cluster_id)
    return attempt


def move_run(run: Run, name: str, person: User) -> Attempt:
    """Move a waiting run to the cluster of that name. Raise CannotMove, or ConfigError if there is no such cluster."""
    with transaction.atomic():
        attempt = _lock_waiting(run, gettext("moved"))
        cluster = check_config(RunConfig.from_json(_config_on(run, name)), run.created_by)
        if cluster == attempt.cluster:
            raise CannotMove(gettext("%(name)s is already on %(cluster)s") % {"name": run.name, "cluster": name})
        _request_move(attempt, cluster, person, is_held=attempt.hold == Hold.PERSON)
        on_commit("cancel_attempt", attempt.pk)
    return attempt


def create_moved_attempts(cluster: Cluster) -> list[Attempt]:
    """Create the next attempts of runs that have left this cluster in order to be moved, held, or to wait in their
    paused sweep, and return them.

    Safe to repeat, also concurrently."""
    moving = list(Attempt.objects.filter(moves_to__isnull=False, cluster=cluster).select_related("run").order_by("pk"))
    for attempt in moving:
        if attempt.is_withdrawn and State(attempt.state) in GOING_STATES:
            _let_continue(attempt)
    cancelled = [attempt for attempt in moving if attempt.state == State.CANCELLED.value]
    return [created for attempt in cancelled if (created := _create_moved(attempt)) is not None]


def _lock_waiting(run: Run, action: str) -> Attempt:
    """Return the run's open attempt with its row locked. Raise CannotMove if it does not wait."""
    if refusal := run.kind.move_refusal:
        raise CannotMove(gettext(refusal) % {"name": run.name, "what": action})
    open_ones = run.attempts.open().select_related("run", "cluster").select_for_update(of=("self",))
    attempt = open_ones.order_by("-n").first()
    params = {"name": run.name, "what": action, "state": run.state}
    if attempt is None:
        raise CannotMove(gettext("%(name)s has already ended (%(state)s). Only waiting runs can be %(what)s") % params)
    if attempt.state not in WAITING_STATES:
        raise CannotMove(gettext("%(name)s is not waiting (%(state)s). Only waiting runs can be %(what)s") % params)
    if attempt.cancel_requested_at is not None:
        raise CannotMove(gettext("%(name)s is already being cancelled or moved") % params)
    return attempt


def _request_move(attempt: Attempt, cluster: Cluster, person: User, *, is_held: bool) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(moves_to=cluster, moves_held=is_held)
    text = f"to be held on {cluster}" if is_held else f"to move to {cluster}"
    attempt.note(f"{text}, requested by {person.get_username()}")
    request_end(attempt, person)


def _let_continue(attempt: Attempt) -> None:
    """Note that the attempt began before it could leave the queue. A pause stops no run that has begun."""
    with transaction.atomic():
        withdrawn = Attempt.objects.filter(pk=attempt.pk, moves_to__isnull=False, cancel_requested_at=None)
        if withdrawn.update(moves_to=None):
            attempt.note(STARTED_MEANWHILE)
            publish(attempt)


def _create_moved(attempt: Attempt) -> Attempt | None:
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=attempt.run_id)
        cancelled = Attempt.objects.select_for_update().filter(pk=attempt.pk, moves_to__isnull=False).first()
        if cancelled is None or cancelled.moves_to is None:
            return None
        if cancelled.moves_to_id != cancelled.cluster_id:
            run.config = _config_on(run, cancelled.moves_to.name)
            run.save(update_fields=["config"])
        try:
            created = new_attempt(run, f"removed from {cancelled.cluster}", Origin.RESUME)
        except ConfigError as error:
            clear_moves(run)
            cancelled.note(f"not moved: {'; '.join(map(str, error.problems))}", "warning")
            return None
        if cancelled.moves_held:
            update_facts(created, hold=Hold.PERSON.value, reason=HOLD_REASON)
    return created


def _config_on(run: Run, cluster: str) -> dict[str, object]:
    # A partition belongs to its cluster, so it is cleared.
    return {**run.config, "compute": {**run.config["compute"], "cluster": cluster, "partition": ""}}
