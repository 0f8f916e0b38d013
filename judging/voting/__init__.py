"""The only writer of verdicts: what people say one by one, what judges say, and what files of judgments hold."""

from judging.voting.active_sampling import RULE
from judging.voting.blinding import are_identical, hidden, leaks
from judging.voting.files import OfFile, of_files
from judging.voting.invitations import CannotInvite, invite
from judging.voting.model_judges import BATCH, Judged, of_judge
from judging.voting.pairing import Pairing, drawn, pairings, sides
from judging.voting.people import CHOICES, REASONS, SIDES, CannotVote, Choice, NotNow, choose, reveal, skip, take_back
from judging.voting.turns import judged

__all__ = [
    "BATCH",
    "CHOICES",
    "REASONS",
    "RULE",
    "SIDES",
    "CannotInvite",
    "CannotVote",
    "Choice",
    "Judged",
    "NotNow",
    "OfFile",
    "Pairing",
    "are_identical",
    "choose",
    "drawn",
    "hidden",
    "invite",
    "judged",
    "leaks",
    "of_files",
    "of_judge",
    "pairings",
    "reveal",
    "sides",
    "skip",
    "take_back",
]
