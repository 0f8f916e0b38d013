"""Models of judging: comparisons, raters and verdicts. They import runs; runs never imports them.

Purging a run deletes its responses. The verdicts on them stay, with the contestants' names, so that a board does not
change because a user tidied up.
"""

from judging.models.call import Assignment, Call, Question
from judging.models.comparison import Comparison, Side
from judging.models.gold import GoldPair, GoldSet
from judging.models.judge import Calibration, Judge, JudgeKey
from judging.models.judgment_file import JudgmentFile
from judging.models.rubric import Criterion, Rubric, rubric_names, rubrics_by_name
from judging.models.snapshot import BoardOrder, Snapshot
from judging.models.tally import VerdictTally
from judging.models.tournament import ChosenPrompt, Contestant, Tournament, identifying_names, rubrics_of
from judging.models.verdict import SKIP, Verdict
from judging.models.voter import Invitation, Turn, Voter

__all__ = [
    "SKIP",
    "Assignment",
    "BoardOrder",
    "Calibration",
    "Call",
    "ChosenPrompt",
    "Comparison",
    "Contestant",
    "Criterion",
    "GoldPair",
    "GoldSet",
    "Invitation",
    "Judge",
    "JudgeKey",
    "JudgmentFile",
    "Question",
    "Rubric",
    "Side",
    "Snapshot",
    "Tournament",
    "Turn",
    "Verdict",
    "VerdictTally",
    "Voter",
    "identifying_names",
    "rubric_names",
    "rubrics_by_name",
    "rubrics_of",
]
