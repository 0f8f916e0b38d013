"""Disk space of runs: what their files take, what of it can be rebuilt, and its deletion."""

from runs.launching.storage.commands import CannotFree, free, measure, measure_changed
from runs.launching.storage.views import storage_context

__all__ = ["CannotFree", "free", "measure", "measure_changed", "storage_context"]
