"""Make the database agree with the clusters. Each cluster has a tick, the only task that must run regularly."""

from runs.launching.reconcile.attempt_files import Ending
from runs.launching.reconcile.end_reasons import LastWords, explain_end
from runs.launching.reconcile.interrupt import interrupt_local
from runs.launching.reconcile.late_ticks import LateTicks
from runs.launching.reconcile.rules import decide_by_record
from runs.launching.reconcile.tick import reconcile_cluster
from runs.launching.reconcile.unstored import unstored_end

__all__ = [
    "Ending",
    "LastWords",
    "LateTicks",
    "decide_by_record",
    "explain_end",
    "interrupt_local",
    "reconcile_cluster",
    "unstored_end",
]
