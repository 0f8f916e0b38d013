"""Diagnostics of a board: panels with reasons to doubt its numbers, computed once for the present verdicts.

Pages show the panels. No panel decides which ratings are the true ones.
"""

from judging.boards.panels.disputes import remove_contested
from judging.boards.panels.scorers import Scorer, list_scorers
from judging.boards.panels.snapshots import PanelSnapshot, claim_panels, compute_panels, stored_panels

__all__ = [
    "PanelSnapshot",
    "Scorer",
    "claim_panels",
    "compute_panels",
    "list_scorers",
    "remove_contested",
    "stored_panels",
]
