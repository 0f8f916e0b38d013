"""Report on one criterion: its board, and statistics that show how far the board's numbers can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from judging.stats import agreement, ratings
from judging.stats.agreement import Estimate, OverallAgreement, Pair, Swaps
from judging.stats.ratings import Board, ControlledRatings, Elo, HeldOutLoss, Orders, RatingOptions, Triples, WinMatrix
from judging.stats.votes import Floats, Votes

ORDERS = 200
MAX_RATERS = 12
"""With more raters, report only the agreement of all: the number of pairs grows with the square of their number."""


@dataclass(frozen=True)
class Online:
    """Online Elo with the requested settings in one order, and in many others. single: float64[n], of the one order."""

    elo: Elo
    single: Floats
    orders: Orders


@dataclass(frozen=True)
class Misfit:
    """Pair of contestants with the largest difference between its votes and its ratings.

    errors: the wins of `contestant` minus the expected wins, in standard errors of independent votes.
    """

    contestant: str
    other: str
    errors: float


@dataclass(frozen=True)
class Report:
    """Board of one criterion and its diagnostics. All arrays are indexed by the numbers of `contestants`.

    misfit, most_informative_pair (the pair on which one more vote gives the most information): None if ties have a
    strength of their own, if not all contestants are on one scale, or if there are fewer than three. controlled:
    ratings with controls, or the reason why there are none; None if no controls were requested. raters: the agreement
    of all raters, None if there is only one.
    """

    criterion: str
    board: Board
    contestants: tuple[str, ...]
    matrix: WinMatrix
    slot_share: Estimate
    swaps: Swaps
    held_out: HeldOutLoss | None
    triples: Triples
    misfit: Misfit | None
    most_informative_pair: tuple[str, str] | None
    controlled: ControlledRatings | str | None
    online: Online | None
    raters: OverallAgreement | None
    pairs: tuple[Pair, ...]

    def to_json(self) -> Any:
        """Return all fields as plain values; unknown values are null."""
        swaps = {"pairs": len(self.swaps.games), "table": self.swaps.table, "alone": self.swaps.alone}
        return to_plain(
            {
                "criterion": self.criterion,
                "contestants": self.contestants,
                "board": self.board.to_json(),
                "hash": self.board.hash,
                "win_matrix": _matrix_fields(self.matrix) | {"interval": self.matrix.interval._asdict()},
                "slot_share": asdict(self.slot_share),
                "swaps": swaps | {"consistent": self.swaps.consistent, "slots": self.swaps.slots},
                "held_out": self.held_out and asdict(self.held_out),
                "triples": asdict(self.triples),
                "misfit": self.misfit and asdict(self.misfit),
                "telling": self.most_informative_pair,
                "controlled": self.controlled if isinstance(self.controlled, str | None) else asdict(self.controlled),
                "online_elo": self.online and asdict(self.online),
                "agreement": {
                    "all": self.raters and asdict(self.raters),
                    "pairs": [asdict(pair) for pair in self.pairs],
                },
            }
        )


def build_report(
    criterion: str,
    votes: Votes,
    options: RatingOptions,
    swap: str = "as-is",
    controls: Sequence[str] = (),
    elo: Elo | None = None,
) -> Report:
    """Compute the report on the votes of one criterion.

    swap: one of agreement's POLICIES. Position bias, agreement and online Elo use the games without this policy. Raise
    ValueError if an option is invalid.
    """
    rated = agreement.apply_swap_policy(votes, swap)
    board = ratings.compute_board(rated, options)
    has_several_raters = len(np.unique(votes.counted.annotator)) > 1
    labels = agreement.build_labels(votes)
    pairs = agreement.compare_all_raters(labels) if has_several_raters and len(labels.raters) <= MAX_RATERS else []
    return Report(
        criterion,
        board,
        votes.contestants,
        ratings.win_matrix(rated, options.level),
        agreement.slot_share(votes),
        agreement.find_swaps(votes),
        ratings.held_out_loss(rated),
        ratings.cyclic_triples(rated),
        _misfit(rated, board),
        _most_informative_pair(rated, board),
        _controlled(rated, controls),
        _online(votes, options, elo),
        agreement.overall_agreement(labels) if has_several_raters else None,
        tuple(pairs),
    )


def _misfit(votes: Votes, board: Board) -> Misfit | None:
    if not _is_plain(board):
        return None
    residuals = np.nan_to_num(ratings.residuals(votes, board.groups[0].fit.theta))
    first, other = np.unravel_index(residuals.argmax(), residuals.shape)
    return Misfit(votes.contestants[first], votes.contestants[other], float(residuals[first, other]))


def _most_informative_pair(votes: Votes, board: Board) -> tuple[str, str] | None:
    if not _is_plain(board):
        return None
    gain = ratings.information_gains(votes, board.groups[0].fit)
    first, other = np.unravel_index(gain.argmax(), gain.shape)
    return votes.contestants[first], votes.contestants[other]


def _is_plain(board: Board) -> bool:
    """Return whether ties are half wins, all contestants are on one scale, and there is more than one pair."""
    return board.options.ties == "half-win" and board.connectivity.is_connected and len(board.standings) > 2


def _controlled(votes: Votes, controls: Sequence[str]) -> ControlledRatings | str | None:
    if not controls:
        return None
    try:
        return ratings.controlled_ratings(votes, controls)
    except ratings.NoEstimate as error:
        return str(error)


def _online(votes: Votes, options: RatingOptions, elo: Elo | None) -> Online | None:
    if elo is None:
        return None
    anchor = options.anchor_in(votes.contestants)
    return Online(
        elo, ratings.single_pass(votes, elo, anchor), ratings.ratings_over_orders(votes, elo, ORDERS, anchor=anchor)
    )


def to_plain(value: Any) -> Any:
    """Return the value as plain values: arrays become lists, and numbers that are not finite become null."""
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: to_plain(own) for key, own in value.items()}
    return [to_plain(own) for own in value] if isinstance(value, list | tuple) else value


def _matrix_fields(matrix: WinMatrix) -> dict[str, Any]:
    return {
        "wins": matrix.wins,
        "ties": matrix.ties,
        "both_bad": matrix.both_bad,
        "games": matrix.games,
        "share": matrix.share,
    }
