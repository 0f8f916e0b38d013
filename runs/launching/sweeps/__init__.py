"""Plan sweeps and report their status: the runs of a grid or of a list of cells, and their states."""

from runs.launching.sweeps.imported import store_imported_sweep

__all__ = ["store_imported_sweep"]
