"""Celery task of connection tests."""

from __future__ import annotations

from celery import shared_task

from runs.clusters.connection_test.commands import advance_test
from runs.models import ClusterTest

RETRY_SECONDS = 2


@shared_task(name="runs.jobs.go_on_with_test")  # type: ignore[untyped-decorator]
def go_on_with_test(test_id: int) -> None:
    """Advance a connection test as far as it goes now, and again soon until it has ended."""
    if not advance_test(ClusterTest.objects.select_related("cluster").get(pk=test_id)):
        go_on_with_test.apply_async((test_id,), countdown=RETRY_SECONDS)
