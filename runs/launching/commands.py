"""Launch, cancel and resume runs. Each command enqueues its task as soon as the transaction is committed."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from runs.enqueue import on_commit
from runs.launching.cancel import request_cancel
from runs.launching.create import create_first_attempt
from runs.launching.resume import create_resume_attempt
from runs.models import Attempt, Experiment, Run
from workers.config import RunConfig
from workers.executors.states import OPEN_STATES


def launch_run(*, experiment: Experiment, person: User, config: RunConfig, name: str = "", preset: str = "") -> Run:
    """Create a run with its first attempt, as `create_run`, and submit it. Raise ConfigError.

    A task submits it. If its process ends before the task is sent, the next tick does.
    """
    attempt = create_first_attempt(experiment=experiment, person=person, config=config, name=name, preset=preset)
    on_commit("submit_attempt", attempt.pk)
    return attempt.run


def cancel_run(run: Run, person: User | None = None) -> None:
    """Request the end of a run. Do nothing if it has ended."""
    with transaction.atomic():
        if (attempt := request_cancel(run, person)) is not None:
            on_commit("cancel_attempt", attempt.pk)


def cancel_runs(runs: QuerySet[Run], person: User) -> int:
    """Request the end of those runs that have not ended or wait to restart. Return their number."""
    waiting = Attempt.objects.filter(Q(restart_at__isnull=False) | Q(moves_to__isnull=False)).values("run")
    unfinished = Run.objects.filter(Q(state__in=OPEN_STATES) | Q(pk__in=waiting))
    with transaction.atomic():
        selected = runs.select_related("source", "external").filter(pk__in=unfinished.values("pk"))
        open_runs = list(selected.order_by("pk"))
        for run in open_runs:
            cancel_run(run, person)
    return len(open_runs)


def resume_run(run: Run, person: User | None = None) -> Attempt:
    """Create the next attempt of a run, as `resume`, and submit it. Raise CannotResume."""
    with transaction.atomic():
        attempt = create_resume_attempt(run, person)
        on_commit("submit_attempt", attempt.pk)
    return attempt
