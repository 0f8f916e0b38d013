"""Tick this machine while no worker does: with Valkey full, frozen or away, nothing tells a worker to."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.conf import settings
from django.db import Error, connections
from django.utils import timezone

from runs.launching.reconcile.tick import reconcile_cluster
from runs.models import Attempt, Cluster

CHECK_SECONDS, LOG_SECONDS = 5.0, 60.0
LATE_TICKS = 5
log = logging.getLogger(__name__)


class LateTicks:
    """Check now and then, from a process that needs PostgreSQL only, whether a tick of this machine is overdue."""

    def __init__(self) -> None:
        self._check_at = time.monotonic() + CHECK_SECONDS
        self._log_at = 0.0

    def tick_if_late(self) -> None:
        """Tick local clusters that have open attempts and were not ticked for long. Log at most one error a minute."""
        if (now := time.monotonic()) < self._check_at:
            return
        self._check_at = now + CHECK_SECONDS
        try:
            for cluster in overdue_clusters():
                reconcile_cluster(cluster)
        except (Error, OSError, ExceptionGroup) as error:
            connections.close_all()
            if now >= self._log_at:
                self._log_at = now + LOG_SECONDS
                log.warning("Follower cannot store the states of local runs; retrying: %s", error)


def overdue_clusters() -> list[Cluster]:
    """Return the local clusters with open attempts whose last tick is too long ago, or in the future."""
    late = timedelta(seconds=LATE_TICKS * settings.TICK_SECONDS)
    is_local = Attempt.objects.to_clusters().filter(cluster__kind="local")
    clusters = Cluster.objects.filter(pk__in=is_local.values("cluster"))
    now = timezone.now()
    return [c for c in clusters if c.ticked_at is None or abs(now - c.ticked_at) > late]
