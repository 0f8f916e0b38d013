"""The only package that writes verdicts: voters' choices, judges' verdicts, and judgments from files."""

from judging.voting.active_sampling import RULE
from judging.voting.blinding import are_identical, find_leaks, hide_names
from judging.voting.choices import (
    CHOICES,
    REASONS,
    SIDES,
    Choice,
    VoteRefused,
    VotingPaused,
    retract_choice,
    reveal_turn,
    save_choice,
    skip_turn,
)
from judging.voting.files import ImportedVerdict, save_imported_verdicts
from judging.voting.invitations import InvitationRefused, create_invitations
from judging.voting.model_judges import BATCH_SIZE, JudgeVerdict, save_judge_verdicts
from judging.voting.pairing import Pairing, draw_sample, draw_side, draw_sides, make_pairings
from judging.voting.turns import count_judged_pairs

__all__ = [
    "BATCH_SIZE",
    "CHOICES",
    "REASONS",
    "RULE",
    "SIDES",
    "Choice",
    "ImportedVerdict",
    "InvitationRefused",
    "JudgeVerdict",
    "Pairing",
    "VoteRefused",
    "VotingPaused",
    "are_identical",
    "count_judged_pairs",
    "create_invitations",
    "draw_sample",
    "draw_side",
    "draw_sides",
    "find_leaks",
    "hide_names",
    "make_pairings",
    "retract_choice",
    "reveal_turn",
    "save_choice",
    "save_imported_verdicts",
    "save_judge_verdicts",
    "skip_turn",
]
