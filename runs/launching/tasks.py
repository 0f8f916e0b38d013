"""Celery tasks of launching: short, safe to repeat, never waiting for a run. The next tick replaces a lost task."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings

from runs.clusters.connection_test import advance_tests
from runs.launching.cancel import cancel_job
from runs.launching.code import purge_copies as purge_unused
from runs.launching.external import check_silence
from runs.launching.reconcile import reconcile_cluster
from runs.launching.storage import measure_changed
from runs.launching.submit import submit_job
from runs.launching.sweeps.pause import withdraw_sweep as withdraw_runs_of
from runs.models import Attempt, Cluster, Job, Rebuild, Sweep


@shared_task(name="runs.jobs.submit_attempt")  # type: ignore[untyped-decorator]
def submit_attempt(attempt_id: int) -> None:
    """Submit an attempt to its cluster, then tick the cluster."""
    _submit(Attempt.objects.select_related("run", "cluster").get(pk=attempt_id))


@shared_task(name="runs.jobs.cancel_attempt")  # type: ignore[untyped-decorator]
def cancel_attempt(attempt_id: int) -> None:
    """Cancel an attempt on its cluster, then tick the cluster."""
    _cancel(Attempt.objects.select_related("run", "cluster").get(pk=attempt_id))


@shared_task(name="runs.jobs.withdraw_sweep")  # type: ignore[untyped-decorator]
def withdraw_sweep(sweep_id: int) -> None:
    """Remove the waiting runs of a paused sweep from the queues of their clusters, then tick these."""
    for cluster in withdraw_runs_of(Sweep.objects.get(pk=sweep_id)):
        reconcile_cluster(cluster)


@shared_task(name="runs.jobs.submit_rebuild")  # type: ignore[untyped-decorator]
def submit_rebuild(rebuild_id: int) -> None:
    """Submit the job that rebuilds a checkpoint, then tick its cluster."""
    _submit(Rebuild.objects.select_related("run", "cluster").get(pk=rebuild_id))


@shared_task(name="runs.jobs.cancel_rebuild")  # type: ignore[untyped-decorator]
def cancel_rebuild(rebuild_id: int) -> None:
    """Cancel the job that rebuilds a checkpoint, then tick its cluster."""
    _cancel(Rebuild.objects.select_related("run", "cluster").get(pk=rebuild_id))


@shared_task(name="runs.jobs.tick_cluster")  # type: ignore[untyped-decorator]
def tick_cluster(cluster_id: int) -> None:
    """Make the database agree with a cluster, and advance its connection tests."""
    cluster = Cluster.objects.get(pk=cluster_id)
    reconcile_cluster(cluster)
    advance_tests(cluster)


@shared_task(name="runs.jobs.tick_clusters")  # type: ignore[untyped-decorator]
def tick_clusters() -> None:
    """Tick every cluster, each in a task of its own."""
    for pk in Cluster.objects.values_list("pk", flat=True):
        tick_cluster.apply_async((pk,), expires=2 * settings.TICK_SECONDS)


@shared_task(name="runs.jobs.check_external_runs")  # type: ignore[untyped-decorator]
def check_external_runs() -> None:
    """Mark silent external runs as lost, and those that are heard again as running."""
    check_silence()


@shared_task(name="runs.jobs.measure_disk")  # type: ignore[untyped-decorator]
def measure_disk() -> None:
    """Measure the disk space of runs whose files may have changed."""
    measure_changed()


@shared_task(name="runs.jobs.purge_copies")  # type: ignore[untyped-decorator]
def purge_copies() -> None:
    """Delete unneeded pinned code and array scripts."""
    purge_unused()


def _submit(job: Job) -> None:
    submit_job(job)
    reconcile_cluster(job.cluster)


def _cancel(job: Job) -> None:
    cancel_job(job)
    reconcile_cluster(job.cluster)
