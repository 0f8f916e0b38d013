"""What goes in and comes out of the API of judging, as JSON."""

from judging.api.shapes.assignments import (
    AssignmentOut,
    ChangedAssignment,
    EstimateOut,
    NewAssignment,
    NewCalibration,
)
from judging.api.shapes.boards import BoardOut, NewOrder, OrderedOut
from judging.api.shapes.files import BroughtOut, JudgmentsOfFile, NewJudgments
from judging.api.shapes.gold import GoldSetOut, GoldSetsOut, NewGoldSet
from judging.api.shapes.invitations import InvitationOut, MadeInvitation, MadeInvitations, NewInvitations
from judging.api.shapes.judges import CalibrationOut, JudgeDetail, JudgeOut, JudgesOut
from judging.api.shapes.rubrics import RubricOut, RubricsOut
from judging.api.shapes.tournaments import (
    ChangedTournament,
    ContestantOut,
    CriterionOut,
    EntryIn,
    NewTournament,
    TournamentDetail,
    TournamentOut,
    TournamentsOut,
)
from judging.api.shapes.verdicts import VerdictOut, VerdictsOut

__all__ = [
    "AssignmentOut",
    "BoardOut",
    "BroughtOut",
    "CalibrationOut",
    "ChangedAssignment",
    "ChangedTournament",
    "ContestantOut",
    "CriterionOut",
    "EntryIn",
    "EstimateOut",
    "GoldSetOut",
    "GoldSetsOut",
    "InvitationOut",
    "JudgeDetail",
    "JudgeOut",
    "JudgesOut",
    "JudgmentsOfFile",
    "MadeInvitation",
    "MadeInvitations",
    "NewAssignment",
    "NewCalibration",
    "NewGoldSet",
    "NewInvitations",
    "NewJudgments",
    "NewOrder",
    "NewTournament",
    "OrderedOut",
    "RubricOut",
    "RubricsOut",
    "TournamentDetail",
    "TournamentOut",
    "TournamentsOut",
    "VerdictOut",
    "VerdictsOut",
]
