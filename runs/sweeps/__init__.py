"""Sweeps, planned and told of: which runs a grid or a list of cells makes, and how those stand."""

from runs.sweeps.plan import Planned, cells_of, label, planned, widened
from runs.sweeps.standing import Standing, standing
from runs.sweeps.table import CellRow, best, cell_rows

__all__ = [
    "CellRow",
    "Planned",
    "Standing",
    "best",
    "cell_rows",
    "cells_of",
    "label",
    "planned",
    "standing",
    "widened",
]
