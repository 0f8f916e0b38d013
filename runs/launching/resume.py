"""Resume a run in its next attempt: on request, automatically after a failure, with a longer wait each time, or at the
next start of esweb if its stop ended the attempt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.clusters import Timeouts, timeouts_of
from runs.launching.budgets import LIMIT_PATH, check_resume_limits
from runs.launching.create import new_attempt
from runs.launching.transitions import publish, update_facts
from runs.models import Attempt, Cluster, Origin, Run, Sweep
from runs.models.experiment import config_count
from workers.config import ConfigError
from workers.executors.base import STOPPED_BY_ESWEB
from workers.executors.states import State

RESTARTED_AFTER = (
    State.FAILED, State.LOST, State.NODE_LOST, State.TIMEOUT, State.PREEMPTED, State.OOM, State.INTERRUPTED,
)  # fmt: skip
NOT_RESUMED = "not resumed automatically, because ESWEB_RESUME_AFTER_STOP is 0"
BAD_CONFIG = 2
"""Exit code of the trainer for an error that a restart would only repeat."""


def restart_budget(run: Run) -> int:
    """Return how many restarts the run's config allows; none for a run that trains elsewhere.

    Other parts of the config may no longer fit this version.
    """
    return config_count(run.config, "compute", "restarts") if run.kind.runs_here else 0


def count_restarts(run: Run) -> int:
    """Return the number of the run's used restarts. What follows a preemption or a stop of esweb does not count."""
    return run.attempts.filter(origin=Origin.RESTART).count()


def calls_for_restart(attempt: Attempt) -> bool:
    """Return whether the way in which the attempt ended calls for a restart from the run's budget.

    False if a user has requested the end, whatever it was then, and if esweb was stopped, which says nothing about the
    run.
    """
    was_requested = attempt.cancel_requested_at is not None
    return State(attempt.state) in RESTARTED_AFTER and not was_requested and not ended_with_site(attempt)


def ended_with_site(attempt: Attempt) -> bool:
    """Return whether the attempt was stopped because esweb was."""
    return attempt.state == State.INTERRUPTED.value and attempt.native_state == STOPPED_BY_ESWEB


def plan_restart(attempt: Attempt) -> None:
    """Store when the attempt's restart is due, or note why there is none.

    Call it in the transaction in which the attempt ends.
    """
    if ended_with_site(attempt):
        _schedule_resume(attempt)
        return
    allowed = restart_budget(attempt.run)
    if attempt.cluster is None or not allowed or not calls_for_restart(attempt):
        return
    restarts = count_restarts(attempt.run)
    if attempt.exit_code == BAD_CONFIG:
        attempt.note("not restarted automatically: the error would occur again", "warning")
    elif restarts >= allowed and attempt.state != State.PREEMPTED.value:
        attempt.note(f"not restarted automatically: all {allowed} restarts are used", "warning")
    else:
        _schedule_restart(attempt, timeouts_of(attempt.cluster), restarts, allowed)


def create_due_restarts(cluster: Cluster) -> list[Attempt]:
    """Create the restarts that are due on a cluster, and return them. Safe to repeat, also concurrently."""
    # A due time later than any wait was written before the clock was set back.
    max_wait = timedelta(seconds=timeouts_of(cluster).restart_longest)
    is_due = Q(restart_at__lte=Now()) | Q(restart_at__gt=Now() + max_wait)
    due = Attempt.objects.filter(is_due, cluster=cluster).select_related("run", "cluster").order_by("pk")
    ready = [attempt for attempt in due if not _is_awaited(attempt)]
    return [restarted for attempt in ready if (restarted := _restart(attempt)) is not None]


def call_off_restart(run: Run, person: User | None = None) -> bool:
    """Call off the run's automatic restart. Return False if none was due."""
    with transaction.atomic():
        waiting = run.attempts.filter(restart_at__isnull=False).first()
        # A tick that creates the attempt concurrently has the row: then there is no restart to call off.
        if waiting is None or not run.attempts.filter(restart_at__isnull=False).update(restart_at=None):
            return False
        waiting.note("automatic restart cancelled" + (f" by {person.get_username()}" if person else ""))
        publish(waiting)
    return True


def _schedule_resume(attempt: Attempt) -> None:
    """Let the first tick of the next start resume the run: while esweb is stopped nothing ticks.

    The settings of that start decide, so the restart is due whatever they are now.
    """
    Attempt.objects.filter(pk=attempt.pk).update(restart_at=Now())
    if settings.RESUME_AFTER_STOP:
        attempt.note("resumes automatically when esweb starts again")
    publish(attempt)


def _schedule_restart(attempt: Attempt, timeouts: Timeouts, restarts: int, allowed: int) -> None:
    is_free = attempt.state == State.PREEMPTED.value
    seconds = timeouts.restart if is_free else min(timeouts.restart_longest, timeouts.restart * 2.0**restarts)
    Attempt.objects.filter(pk=attempt.pk).update(restart_at=Now() + timedelta(seconds=seconds))
    label = "after the preemption, not counted" if is_free else f"{restarts + 1} of {allowed}"
    attempt.note(f"restarts automatically in {seconds:g} s: restart {label}")
    publish(attempt)


def _is_awaited(attempt: Attempt) -> bool:
    """Return whether the restart still waits for records of the attempt on a remote disk.

    The wait is limited. The records may report a newer checkpoint.
    """
    cluster, due_at = attempt.cluster, attempt.restart_at
    if cluster is None or due_at is None or not cluster.is_remote or attempt.drained_at is not None:
        return False
    # A due time in the future was written before the clock was set back.
    return timedelta(0) <= timezone.now() - due_at < timedelta(seconds=timeouts_of(cluster).records)


def _restart(attempt: Attempt) -> Attempt | None:
    origin, reason = Origin.RESTART, "restarted automatically"
    if attempt.state == State.PREEMPTED.value:
        origin = Origin.PREEMPTION
    elif ended_with_site(attempt):
        origin, reason = Origin.SITE_START, "resumed automatically, because a stop of esweb had ended it"
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=attempt.run_id)
        if not Attempt.objects.filter(pk=attempt.pk, restart_at__isnull=False).update(restart_at=None):
            return None
        if origin == Origin.SITE_START and not settings.RESUME_AFTER_STOP:
            _note_no_resume(attempt)
            return None
        try:
            check_resume_limits(attempt.run.created_by, attempt.run.experiment, [attempt.run])
            return new_attempt(attempt.run, reason, origin)
        except ConfigError as error:
            attempt.note(f"not restarted automatically: {'; '.join(map(str, error.problems))}", "warning")
            return None


def _note_no_resume(attempt: Attempt) -> None:
    update_facts(attempt, reason=f"{attempt.reason}; {NOT_RESUMED}")
    attempt.note(NOT_RESUMED, "warning")
    publish(attempt)


class CannotResume(ValueError):
    """Error for a run that cannot be resumed. The message explains why, and what can be done instead."""


def resume_refusal(run: Run) -> str:
    """Return why the run cannot be resumed now; an empty text if it can."""
    if run.kind.resume_refusal:
        message = run.kind.resume_refusal
    elif run.is_open:
        message = _("%(name)s has not ended (%(state)s)")
    elif run.state == State.SUCCEEDED.value:
        message = run.kind.resumption.refusal
    else:
        return ""
    return gettext(message) % {"name": run.name, "state": run.state}


def create_resume_attempt(run: Run, person: User | None = None) -> Attempt:
    """Create the attempt that resumes the run, to be submitted. Of two simultaneous calls, one creates it.

    Raise CannotResume, also if the remaining work of the run exceeds a limit.
    """
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if refusal := resume_refusal(locked):
            raise CannotResume(refusal)
        try:
            check_resume_limits(locked.created_by, locked.experiment, [run])
            return new_attempt(run, f"resumed by {person.get_username()}" if person else "resumed", Origin.RESUME)
        except ConfigError as error:
            raise CannotResume(_describe_error(error, run.name)) from error


def check_undo(sweep: Sweep, runs: Sequence[Run]) -> None:
    """Raise CannotResume if these runs of a sweep, which its cancel has ended, together exceed a limit."""
    try:
        check_resume_limits(sweep.created_by, sweep.experiment, runs)
    except ConfigError as error:
        raise CannotResume(_describe_error(error, gettext("the sweep"))) from error


def _describe_error(error: ConfigError, name: str) -> str:
    if all(problem.path == LIMIT_PATH for problem in error.problems):
        return " ".join(problem.message for problem in error.problems).rstrip(".")
    message = gettext("the config of %(name)s is no longer valid; clone it and fix: %(problems)s")
    return message % {"name": name, "problems": "; ".join(map(str, error.problems))}
