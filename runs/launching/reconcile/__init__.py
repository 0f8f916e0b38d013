"""Makes the database agree with the clusters: one tick a cluster, which is the only thing that must run."""

from runs.launching.reconcile.interrupt import interrupt_local
from runs.launching.reconcile.tick import reconcile_cluster

__all__ = ["interrupt_local", "reconcile_cluster"]
