"""Celery's jobs: short, safe to repeat, never waiting for a run. A job that is lost is made up for by the next tick."""

from __future__ import annotations

import logging
import time

from celery import shared_task
from django.conf import settings

from runs import ingest, launch, reconcile, scoring
from runs.launch.commands import cancel_run, cancel_runs, launch_run, resume_run
from runs.launch.moving import hold as hold_run
from runs.launch.moving import move_to as move_run
from runs.launch.moving import release as release_run
from runs.launch.rebuilding import rebuild as rebuild_checkpoint
from runs.launch.rebuilding import stop_rebuild
from runs.launch.sweeping import cancel_sweep, change_at_once, extend_sweep, uncancel_sweep, unpause_sweep
from runs.launch.sweeping import create_sweep as launch_sweep
from runs.launch.trying_clusters import advance_test, advance_tests
from runs.launch.trying_clusters import start_test as test_cluster
from runs.models import Attempt, Cluster, ClusterTest, Rebuild
from runs.shelving import delete_experiment, delete_run, delete_runs, purge_trash

__all__ = [
    "cancel_run",
    "cancel_runs",
    "cancel_sweep",
    "change_at_once",
    "delete_experiment",
    "delete_run",
    "delete_runs",
    "extend_sweep",
    "hold_run",
    "launch_run",
    "launch_sweep",
    "move_run",
    "rebuild_checkpoint",
    "release_run",
    "resume_run",
    "stop_rebuild",
    "test_cluster",
    "uncancel_sweep",
    "unpause_sweep",
]

log = logging.getLogger(__name__)
PURGED_AT_ONCE = 100
COMPACTING_SECONDS = 30
"""Of one job; what is left then is taken up by the next."""
MEASURING_SECONDS = 20
"""As COMPACTING_SECONDS, of what answers have in common."""
SCORING_SECONDS = 10
TEST_SECONDS = 2


@shared_task  # type: ignore[untyped-decorator]
def submit_attempt(attempt_id: int) -> None:
    attempt = Attempt.objects.select_related("run", "cluster").get(pk=attempt_id)
    launch.submit(attempt)
    reconcile.tick(attempt.cluster)


@shared_task  # type: ignore[untyped-decorator]
def cancel_attempt(attempt_id: int) -> None:
    attempt = Attempt.objects.select_related("run", "cluster").get(pk=attempt_id)
    launch.cancel(attempt)
    reconcile.tick(attempt.cluster)


@shared_task  # type: ignore[untyped-decorator]
def submit_rebuild(rebuild_id: int) -> None:
    rebuild = Rebuild.objects.select_related("run", "cluster").get(pk=rebuild_id)
    launch.submit(rebuild)
    reconcile.tick(rebuild.cluster)


@shared_task  # type: ignore[untyped-decorator]
def cancel_rebuild(rebuild_id: int) -> None:
    rebuild = Rebuild.objects.select_related("run", "cluster").get(pk=rebuild_id)
    launch.cancel(rebuild)
    reconcile.tick(rebuild.cluster)


@shared_task  # type: ignore[untyped-decorator]
def tick_cluster(cluster_id: int) -> None:
    cluster = Cluster.objects.get(pk=cluster_id)
    reconcile.tick(cluster)
    advance_tests(cluster)


@shared_task  # type: ignore[untyped-decorator]
def go_on_with_test(test_id: int) -> None:
    test = ClusterTest.objects.select_related("cluster").get(pk=test_id)
    if not advance_test(test):
        go_on_with_test.apply_async((test_id,), countdown=TEST_SECONDS)


@shared_task  # type: ignore[untyped-decorator]
def tick_clusters() -> None:
    for pk in Cluster.objects.values_list("pk", flat=True):
        tick_cluster.apply_async((pk,), expires=2 * settings.TICK_SECONDS)


@shared_task  # type: ignore[untyped-decorator]
def compact_series() -> None:
    until = time.monotonic() + COMPACTING_SECONDS
    for run_id in ingest.loose_runs():
        while time.monotonic() < until and ingest.compact(run_id):
            pass


@shared_task  # type: ignore[untyped-decorator]
def measure_collapse() -> None:
    until = time.monotonic() + MEASURING_SECONDS
    while time.monotonic() < until and ingest.measure_due():
        pass


@shared_task  # type: ignore[untyped-decorator]
def score_answers() -> None:
    scoring.work_through(SCORING_SECONDS)


@shared_task  # type: ignore[untyped-decorator]
def purge_bin() -> None:
    purge_trash()


@shared_task  # type: ignore[untyped-decorator]
def purge_copies() -> None:
    for purge in (launch.purge_code, launch.purge_arrays):
        try:
            log.info("Removed of what nothing needs: %s", purge() or "nothing")
        except OSError:
            log.exception("What nothing needs any more cannot be removed; the next job tries again")
