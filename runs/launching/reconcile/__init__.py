"""Make the database agree with the clusters. Each cluster has a tick, the only task that must run regularly."""

from runs.launching.reconcile.interrupt import interrupt_local
from runs.launching.reconcile.tick import reconcile_cluster

__all__ = ["interrupt_local", "reconcile_cluster"]
