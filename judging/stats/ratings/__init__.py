"""Votes -> ratings, with what is known and not known about them. Numbers in, numbers out; no Django below this line.

`board` says it all at once. What it is made of, and what stands beside it: `online_elo`, `covariates`, `win_matrix`,
`goodness`, `sandwich`.
"""

from judging.stats.ratings.board import Board, Tally, board, tally
from judging.stats.ratings.bootstrap import UNITS, Resampling
from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import WinMatrix, win_matrix
from judging.stats.ratings.covariates import POSITION, Adjusted, Effect, adjusted
from judging.stats.ratings.goodness_of_fit import HeldOut, Triples, cyclic_triples, held_out, residuals
from judging.stats.ratings.information_gain import telling
from judging.stats.ratings.maximum_likelihood import TIES
from judging.stats.ratings.next_pair import Choice, Rule, next_pairs
from judging.stats.ratings.online_elo import Elo, Orders, over_orders, single_pass
from judging.stats.ratings.options import RatingOptions
from judging.stats.ratings.scale import ELO_PER_NAT
from judging.stats.ratings.standings import ContestantStanding, Range

__all__ = [
    "ELO_PER_NAT",
    "POSITION",
    "TIES",
    "UNITS",
    "Adjusted",
    "Board",
    "Choice",
    "ContestantStanding",
    "Effect",
    "Elo",
    "HeldOut",
    "NoEstimate",
    "Orders",
    "Range",
    "RatingOptions",
    "Resampling",
    "Rule",
    "Tally",
    "Triples",
    "WinMatrix",
    "adjusted",
    "board",
    "cyclic_triples",
    "held_out",
    "next_pairs",
    "over_orders",
    "residuals",
    "single_pass",
    "tally",
    "telling",
    "win_matrix",
]
