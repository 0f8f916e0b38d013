"""Resume a run in its next attempt: on request, or automatically after a failure, with a longer wait each time."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext

from runs.clusters import Waits, waits_of
from runs.launching.budgets import PLACE, check_going_on
from runs.launching.create import new_attempt
from runs.launching.transitions import tell
from runs.models import Attempt, Cluster, Origin, Run, Sweep
from workers.config import ConfigError
from workers.executors.base import STOPPED_BY_ESWEB
from workers.executors.states import State

RESTARTED_AFTER = (
    State.FAILED, State.LOST, State.NODE_LOST, State.TIMEOUT, State.PREEMPTED, State.OOM, State.INTERRUPTED,
)  # fmt: skip
BAD_CONFIG = 2
"""Exit code of the trainer for an error that a restart would only repeat."""


def budget(run: Run) -> int:
    """Return how many restarts the run's config allows.

    Other parts of the config may no longer fit this version.
    """
    compute = run.config.get("compute")
    allowed = compute.get("restarts", 0) if isinstance(compute, dict) else 0
    return allowed if isinstance(allowed, int) else 0


def restarts_made(run: Run) -> int:
    """Return how many of the run's restarts are used up. Restarts after a preemption do not count."""
    return run.attempts.filter(origin=Origin.RESTART).count()


def calls_for_restart(attempt: Attempt) -> bool:
    """Return whether the way in which the attempt ended calls for a restart.

    False if a person wanted that end: whoever stops esweb decides, when it starts again, which runs continue.
    """
    return State(attempt.state) in RESTARTED_AFTER and attempt.native_state != STOPPED_BY_ESWEB


def plan_restart(attempt: Attempt) -> None:
    """Store when the attempt's restart is due, or note why there is none.

    Call it in the transaction in which the attempt ends.
    """
    allowed = budget(attempt.run)
    if attempt.cluster is None or not allowed or not calls_for_restart(attempt):
        return
    made = restarts_made(attempt.run)
    if attempt.exit_code == BAD_CONFIG:
        attempt.note("not started again by itself: what is wrong with it would be wrong again", "warning")
    elif made >= allowed and attempt.state != State.PREEMPTED.value:
        attempt.note(f"not started again by itself: its budget of restarts, {allowed}, is used up", "warning")
    else:
        _wait(attempt, waits_of(attempt.cluster), made, allowed)


def restart_due(cluster: Cluster) -> list[Attempt]:
    """Create the attempts that are due on a cluster, and return them. Safe to repeat, and to run twice at once."""
    # A time farther off than any wait was written before the clock was set back.
    longest = timedelta(seconds=waits_of(cluster).restart_longest)
    is_due = Q(restart_at__lte=Now()) | Q(restart_at__gt=Now() + longest)
    due = Attempt.objects.filter(is_due, cluster=cluster).select_related("run", "cluster").order_by("pk")
    ready = [attempt for attempt in due if not _is_awaited(attempt)]
    return [made for attempt in ready if (made := _restart(attempt)) is not None]


def call_off_restart(run: Run, person: User | None = None) -> bool:
    """Call off the run's automatic restart. Return False if none was due."""
    with transaction.atomic():
        waiting = run.attempts.filter(restart_at__isnull=False).first()
        # A tick that makes the attempt at this moment has the row: then there is nothing left to call off.
        if waiting is None or not run.attempts.filter(restart_at__isnull=False).update(restart_at=None):
            return False
        waiting.note("restart called off" + (f" by {person.get_username()}" if person else ""))
        tell(waiting)
    return True


def _wait(attempt: Attempt, waits: Waits, made: int, allowed: int) -> None:
    is_free = attempt.state == State.PREEMPTED.value
    seconds = waits.restart if is_free else min(waits.restart_longest, waits.restart * 2.0**made)
    Attempt.objects.filter(pk=attempt.pk).update(restart_at=Now() + timedelta(seconds=seconds))
    which = "after the preemption, which takes nothing from its budget" if is_free else f"{made + 1} of {allowed}"
    attempt.note(f"starts again by itself in {seconds:g} s: restart {which}")
    tell(attempt)


def _is_awaited(attempt: Attempt) -> bool:
    """Return whether the restart still waits for records of the attempt on a remote disk.

    The wait is limited. The records may report a newer checkpoint.
    """
    cluster, due_at = attempt.cluster, attempt.restart_at
    if cluster is None or due_at is None or not cluster.is_far or attempt.drained_at is not None:
        return False
    # Due in the time to come: written before the clock was set back.
    return timedelta(0) <= timezone.now() - due_at < timedelta(seconds=waits_of(cluster).records)


def _restart(attempt: Attempt) -> Attempt | None:
    origin = Origin.PREEMPTION if attempt.state == State.PREEMPTED.value else Origin.RESTART
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=attempt.run_id)
        if not Attempt.objects.filter(pk=attempt.pk, restart_at__isnull=False).update(restart_at=None):
            return None
        try:
            check_going_on(attempt.run.created_by, attempt.run.experiment, Run.objects.filter(pk=attempt.run_id))
            return new_attempt(attempt.run, "started again by itself", origin)
        except ConfigError as error:
            attempt.note(f"not started again by itself: {'; '.join(map(str, error.problems))}", "warning")
            return None


class CannotResume(ValueError):
    """Error for a run that cannot be resumed. The message explains why, and what can be done instead."""


def resume_refusal(run: Run) -> str:
    """Return why the run cannot be resumed now; an empty text if it can."""
    if run.is_imported:
        said = gettext(
            "%(name)s was imported: it ran elsewhere, and nothing is here to go on from; clone it to train it here"
        )
    elif run.is_open:
        said = gettext("%(name)s has not ended: it is %(state)s")
    elif run.state == State.SUCCEEDED.value:
        said = gettext("%(name)s has reached its last step; clone it to train again, with another seed or config")
    else:
        return ""
    return said % {"name": run.name, "state": run.state}


def create_resume_attempt(run: Run, person: User | None = None) -> Attempt:
    """Create the attempt that resumes the run, to be submitted. Of two simultaneous calls, one creates it.

    Raise CannotResume, also if the remaining work of the run exceeds a limit.
    """
    with transaction.atomic():
        now = Run.objects.select_for_update().get(pk=run.pk)
        if why := resume_refusal(now):
            raise CannotResume(why)
        try:
            check_going_on(now.created_by, now.experiment, Run.objects.filter(pk=now.pk))
            return new_attempt(run, f"resumed by {person.get_username()}" if person else "resumed", Origin.RESUME)
        except ConfigError as error:
            raise CannotResume(_in_words(error, run.name)) from error


def check_undo(sweep: Sweep, runs: QuerySet[Run]) -> None:
    """Raise CannotResume if these runs of a sweep, which its cancel has ended, together exceed a limit."""
    try:
        check_going_on(sweep.created_by, sweep.experiment, runs)
    except ConfigError as error:
        raise CannotResume(_in_words(error, gettext("the sweep"))) from error


def _in_words(error: ConfigError, name: str) -> str:
    if all(problem.path == PLACE for problem in error.problems):
        return " ".join(problem.message for problem in error.problems).rstrip(".")
    said = gettext("the config of %(name)s no longer fits this version; clone it and put right: %(problems)s")
    return said % {"name": name, "problems": "; ".join(map(str, error.problems))}
