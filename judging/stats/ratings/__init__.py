"""Ratings from votes, with their uncertainty. All functions work on numbers; nothing here imports Django.

`compute_board` returns a whole board. Its parts and further diagnostics are in `online_elo`, `covariates`,
`win_matrix`, `goodness_of_fit` and `sandwich`.
"""

from judging.stats.ratings.board import Board, Tally, compute_board, count_tally
from judging.stats.ratings.bootstrap import UNITS, Resampling
from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import WinMatrix, wilson_interval, win_matrix
from judging.stats.ratings.covariates import POSITION, ControlledRatings, Effect, controlled_ratings
from judging.stats.ratings.goodness_of_fit import HeldOutLoss, Triples, cyclic_triples, held_out_loss, residuals
from judging.stats.ratings.information_gain import information_gains
from judging.stats.ratings.maximum_likelihood import TIES
from judging.stats.ratings.next_pair import Choice, Rule, select_next_pairs
from judging.stats.ratings.online_elo import Elo, Orders, ratings_over_orders, single_pass
from judging.stats.ratings.options import RatingOptions
from judging.stats.ratings.scale import ELO_PER_NAT
from judging.stats.ratings.standings import Range

__all__ = [
    "ELO_PER_NAT",
    "POSITION",
    "TIES",
    "UNITS",
    "Board",
    "Choice",
    "ControlledRatings",
    "Effect",
    "Elo",
    "HeldOutLoss",
    "NoEstimate",
    "Orders",
    "Range",
    "RatingOptions",
    "Resampling",
    "Rule",
    "Tally",
    "Triples",
    "WinMatrix",
    "compute_board",
    "controlled_ratings",
    "count_tally",
    "cyclic_triples",
    "held_out_loss",
    "information_gains",
    "ratings_over_orders",
    "residuals",
    "select_next_pairs",
    "single_pass",
    "wilson_interval",
    "win_matrix",
]
