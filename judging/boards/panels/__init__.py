"""Diagnostics of a board: panels with reasons to doubt its numbers, computed once for the present verdicts.

Pages show the panels. No panel decides which ratings are the true ones.
"""

from judging.boards.panels.disputes import untold
from judging.boards.panels.scorers import Scorer, scorers_in
from judging.boards.panels.snapshots import PanelSnapshot, claim, kept, work_out

__all__ = ["PanelSnapshot", "Scorer", "claim", "kept", "scorers_in", "untold", "work_out"]
