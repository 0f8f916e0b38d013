"""What the numbers of a board should be doubted for: panels beside it, worked out once for the verdicts that there are.

Pages show them; nothing here says which ratings are the true ones.
"""

from judging.panels.disputes import untold
from judging.panels.keeping import Kept, claim, kept, work_out
from judging.panels.scorers import Scorer, scorers_in

__all__ = ["Kept", "Scorer", "claim", "kept", "scorers_in", "untold", "work_out"]
