"""Makes the database agree with the clusters: one tick a cluster, which is the only thing that must run."""

from runs.reconcile.stopping import interrupt_local
from runs.reconcile.ticking import tick

__all__ = ["interrupt_local", "tick"]
