"""What the numbers of a board should be doubted for: panels beside it, worked out once for the verdicts that there are.

Pages show them; nothing here says which ratings are the true ones.
"""

from judging.boards.panels.disputes import untold
from judging.boards.panels.scorers import Scorer, scorers_in
from judging.boards.panels.snapshots import PanelSnapshot, claim, kept, work_out

__all__ = ["PanelSnapshot", "Scorer", "claim", "kept", "scorers_in", "untold", "work_out"]
