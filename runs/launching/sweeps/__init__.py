"""Plan sweeps and report their status: the runs of a grid or of a list of cells, and their states."""

from runs.launching.sweeps.plan import PlannedRun, cells_of, extend_cells, label, plan_runs
from runs.launching.sweeps.status import SweepStatus, sweep_status
from runs.launching.sweeps.table import CellRow, best_cells, cell_rows

__all__ = [
    "CellRow",
    "PlannedRun",
    "SweepStatus",
    "best_cells",
    "cell_rows",
    "cells_of",
    "extend_cells",
    "label",
    "plan_runs",
    "sweep_status",
]
