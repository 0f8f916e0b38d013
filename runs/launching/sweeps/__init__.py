"""Sweeps, planned and told of: which runs a grid or a list of cells makes, and how those stand."""

from runs.launching.sweeps.plan import PlannedRun, cells_of, label, planned, widened
from runs.launching.sweeps.status import SweepStatus, standing
from runs.launching.sweeps.table import CellRow, best, cell_rows

__all__ = [
    "CellRow",
    "PlannedRun",
    "SweepStatus",
    "best",
    "cell_rows",
    "cells_of",
    "label",
    "planned",
    "standing",
    "widened",
]
