"""Celery's jobs: short, safe to repeat, never waiting for a run. A job that is lost is made up for by the next tick."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import Any

from celery import shared_task
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from runs import ingest, launch, reconcile, scoring, shelving
from runs.launch.trying_clusters import advance_test, begin_test
from runs.models import Attempt, Cluster, ClusterTest, Experiment, Job, Rebuild, Run, Sweep
from workers.executors.states import OPEN_STATES, State

log = logging.getLogger(__name__)
PURGED_AT_ONCE = 100
COMPACTING_SECONDS = 30
"""Of one job; what is left then is taken up by the next."""
MEASURING_SECONDS = 20
"""As COMPACTING_SECONDS, of what answers have in common."""
SCORING_SECONDS = 10
TEST_SECONDS = 2
short_job = partial(shared_task, acks_late=True, reject_on_worker_lost=True, soft_time_limit=60, time_limit=120)


@short_job()  # type: ignore[untyped-decorator]
def submit_attempt(attempt_id: int) -> None:
    attempt = Attempt.objects.select_related("run", "cluster").get(pk=attempt_id)
    launch.submit(attempt)
    _tick(attempt)


@short_job()  # type: ignore[untyped-decorator]
def cancel_attempt(attempt_id: int) -> None:
    attempt = Attempt.objects.select_related("run", "cluster").get(pk=attempt_id)
    launch.cancel(attempt)
    _tick(attempt)


@short_job()  # type: ignore[untyped-decorator]
def submit_rebuild(rebuild_id: int) -> None:
    rebuild = Rebuild.objects.select_related("run", "cluster").get(pk=rebuild_id)
    launch.submit(rebuild)
    _tick(rebuild)


@short_job()  # type: ignore[untyped-decorator]
def cancel_rebuild(rebuild_id: int) -> None:
    rebuild = Rebuild.objects.select_related("run", "cluster").get(pk=rebuild_id)
    launch.cancel(rebuild)
    _tick(rebuild)


@short_job()  # type: ignore[untyped-decorator]
def tick_cluster(cluster_id: int) -> None:
    cluster = Cluster.objects.get(pk=cluster_id)
    reconcile.tick(cluster)
    # Of a test whose own job was lost.
    for test in ClusterTest.objects.filter(cluster=cluster, ended_at__isnull=True).select_related("cluster"):
        advance_test(test)


@short_job()  # type: ignore[untyped-decorator]
def go_on_with_test(test_id: int) -> None:
    test = ClusterTest.objects.select_related("cluster").get(pk=test_id)
    if not advance_test(test):
        go_on_with_test.apply_async((test_id,), countdown=TEST_SECONDS)


@short_job()  # type: ignore[untyped-decorator]
def tick_clusters() -> None:
    for pk in Cluster.objects.values_list("pk", flat=True):
        tick_cluster.apply_async((pk,), expires=2 * settings.TICK_SECONDS)


@short_job()  # type: ignore[untyped-decorator]
def compact_series() -> None:
    until = time.monotonic() + COMPACTING_SECONDS
    for run_id in ingest.loose_runs():
        while time.monotonic() < until and ingest.compact(run_id):
            pass


@short_job()  # type: ignore[untyped-decorator]
def measure_collapse() -> None:
    until = time.monotonic() + MEASURING_SECONDS
    while time.monotonic() < until and ingest.measure_due():
        pass


@short_job()  # type: ignore[untyped-decorator]
def score_answers() -> None:
    scoring.work_through(SCORING_SECONDS)


@short_job()  # type: ignore[untyped-decorator]
def purge_bin() -> None:
    for run in shelving.expired_runs().order_by("pk")[:PURGED_AT_ONCE]:
        cancel_run(run)
        for rebuild in run.rebuilds.open():
            stop_rebuild(rebuild)
        try:
            shelving.purge_run(run)
        except OSError:
            log.exception("The files of run %s cannot be removed: it stays in the bin", run.uid)
    shelving.purge_experiments()


@short_job()  # type: ignore[untyped-decorator]
def purge_copies() -> None:
    for purge in (launch.purge_code, launch.purge_arrays):
        try:
            log.info("Removed of what nothing needs: %s", purge() or "nothing")
        except OSError:
            log.exception("What nothing needs any more cannot be removed; the next job tries again")


def test_cluster(cluster: Cluster, person: User) -> ClusterTest:
    """A new test of a cluster, gone on with as soon as it is committed; the present one where that has not ended."""
    with transaction.atomic():
        test = begin_test(cluster, person)
        transaction.on_commit(partial(go_on_with_test.delay, test.pk), robust=True)
    return test


def launch_run(**what: Any) -> Run:
    """`launch.create_run`, submitted as soon as it is committed. Raises ConfigError."""
    with transaction.atomic():
        run = launch.create_run(**what)
        _on_commit(submit_attempt, run.newest_attempt())
    return run


def launch_sweep(new: launch.NewSweep, experiment: Experiment, person: User) -> Sweep:
    """`launch.create_sweep`; its first runs start as soon as it is committed. Raises ConfigError."""
    with transaction.atomic():
        sweep = launch.create_sweep(new, experiment, person)
        _tick_soon(sweep)
    return sweep


def extend_sweep(sweep: Sweep, person: User, **more: Any) -> list[Run]:
    """`launch.extend_sweep`; what it adds starts when there is room. Raises ConfigError."""
    with transaction.atomic():
        made = launch.extend_sweep(sweep, person, **more)
        _tick_soon(sweep)
    return made


def unpause_sweep(sweep: Sweep) -> bool:
    """Lets a paused sweep go on. False where it was not paused."""
    with transaction.atomic():
        _tick_soon(sweep)
        return launch.unpause_sweep(sweep)


def change_at_once(sweep: Sweep, at_once: int) -> None:
    """So many of its runs at a time, from now on. Raises ConfigError."""
    with transaction.atomic():
        launch.change_at_once(sweep, at_once)
        _tick_soon(sweep)


def cancel_sweep(sweep: Sweep, person: User) -> int:
    """Asks for the end of all of its runs that have not ended; how many those were."""
    now = timezone.now()
    with transaction.atomic():
        stopped = launch.drop_held(sweep, person) + cancel_runs(sweep.runs.all(), person)
        if stopped:
            # The first of several cancels is kept: an undo is one of all of them.
            Sweep.objects.filter(pk=sweep.pk, cancelled_at=None).update(cancelled_at=now)
    return stopped


def uncancel_sweep(sweep: Sweep, person: User) -> int:
    """Lets those of its runs go on that its cancel has ended; how many those are. What still stops is left.

    Raises CannotResume, and lets none go on, where they are together beyond a limit.
    """
    since = Sweep.objects.values_list("cancelled_at", flat=True).get(pk=sweep.pk)
    if since is None:
        return 0
    asked = sweep.runs.filter(deleted_at__isnull=True, attempts__cancel_requested_at__gte=since).distinct()
    with transaction.atomic():
        launch.check_undo(sweep, Run.objects.filter(pk__in=asked.filter(state=State.CANCELLED).values("pk")))
        picked_up = launch.pick_up_dropped(sweep, person)
        ended = list(asked.filter(state=State.CANCELLED).order_by("pk"))
        for run in ended:
            resume_run(run, person)
        stopping = Attempt.objects.open().filter(run__sweep=sweep, cancel_requested_at__gte=since)
        if not stopping.exists():
            Sweep.objects.filter(pk=sweep.pk).update(cancelled_at=None)
        _tick_soon(sweep)
    return picked_up + len(ended)


def cancel_run(run: Run, person: User | None = None) -> None:
    """Asks for the run's end, and passes that on as soon as it is committed. Does nothing where it has ended."""
    with transaction.atomic():
        _on_commit(cancel_attempt, launch.request_cancel(run, person))


def resume_run(run: Run, person: User | None = None) -> Attempt:
    """`launch.resume`, submitted as soon as it is committed. Raises CannotResume."""
    with transaction.atomic():
        attempt = launch.resume(run, person)
        _on_commit(submit_attempt, attempt)
    return attempt


def hold_run(run: Run, person: User) -> None:
    """Keeps a run that waits from its cluster. Raises launch.CannotMove."""
    with transaction.atomic():
        _see_to(launch.hold(run, person))


def release_run(run: Run, person: User) -> None:
    """Lets a run go that somebody holds. Raises launch.CannotMove."""
    with transaction.atomic():
        attempt = launch.release(run, person)
        if attempt.cluster_id is not None:
            _enqueue_on_commit(tick_cluster, attempt.cluster_id)


def move_run(run: Run, cluster: str, person: User) -> None:
    """Moves a run that waits to another cluster. Raises launch.CannotMove, ConfigError."""
    with transaction.atomic():
        _see_to(launch.move_to(run, cluster, person))


def rebuild_checkpoint(run: Run, step: int, person: User) -> Rebuild:
    """`launch.rebuild`, submitted as soon as it is committed. Raises CannotRebuild."""
    with transaction.atomic():
        rebuild = launch.rebuild(run, step, person)
        if rebuild.state == State.CREATED.value:
            _on_commit(submit_rebuild, rebuild)
    return rebuild


def delete_run(run: Run, person: User) -> None:
    """Puts a run into the bin, and asks for its end where it has not ended."""
    with transaction.atomic():
        cancel_run(run, person)
        shelving.delete(run, person)


def cancel_runs(runs: QuerySet[Run], person: User) -> int:
    """Asks for the end of those of the runs that have not ended or wait to start again; how many those were."""
    with transaction.atomic():
        found = list(runs.filter(pk__in=_not_at_rest(Run.objects.all()).values("pk")).order_by("pk"))
        for run in found:
            cancel_run(run, person)
    return len(found)


def delete_runs(runs: QuerySet[Run], person: User) -> list[int]:
    """Puts runs into the bin, and asks for the end of those that have not ended. Gives their ids."""
    with transaction.atomic():
        cancel_runs(runs, person)
        return shelving.delete_runs(runs, person)


def delete_experiment(experiment: Experiment, person: User) -> None:
    """Puts an experiment with its runs into the bin, and asks for the end of those that have not ended."""
    with transaction.atomic():
        cancel_runs(experiment.runs.all(), person)
        shelving.delete(experiment, person)


def stop_rebuild(rebuild: Rebuild) -> None:
    """Asks for the end of a job that rebuilds, as soon as it is committed."""
    with transaction.atomic():
        launch.wish_to_end(rebuild)
        _on_commit(cancel_rebuild, rebuild)


def _see_to(attempt: Attempt) -> None:
    """Passes on, as soon as it is committed, that an attempt shall leave its cluster."""
    _on_commit(cancel_attempt, attempt)


def _tick_soon(sweep: Sweep) -> None:
    """The clusters that runs of it wait for see to them at once, instead of with their next tick."""
    places = Attempt.objects.held().filter(run__sweep=sweep).order_by().values_list("cluster", flat=True).distinct()
    for cluster in Cluster.objects.filter(pk__in=list(places)):
        _enqueue_on_commit(tick_cluster, cluster.pk)


def _tick(job: Job) -> None:
    reconcile.tick(job.cluster)


def _not_at_rest(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Runs that have not ended, or will start again by themselves."""
    waiting = Attempt.objects.filter(Q(restart_at__isnull=False) | Q(moves_to__isnull=False)).values("run")
    return runs.filter(Q(state__in=OPEN_STATES) | Q(pk__in=waiting))


def _on_commit(queued: Any, job: Job | None) -> None:
    if job is not None:
        _enqueue_on_commit(queued, job.pk)


def _enqueue_on_commit(queued: Any, pk: int) -> None:
    def enqueue() -> None:
        queued.delay(pk)

    # Robust: a queue that is away is logged and costs time until the next tick, never the run.
    transaction.on_commit(enqueue, robust=True)
