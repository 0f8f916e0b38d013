"""Report on one criterion: its board, and statistics that show how far the board's numbers can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from judging.stats import agreement, ratings
from judging.stats.agreement import All, Estimate, Pair, Swaps
from judging.stats.ratings import Adjusted, Board, Elo, HeldOut, Orders, RatingOptions, Triples, WinMatrix
from judging.stats.votes import Floats, Votes

ORDERS = 200
RATERS_AT_MOST = 12
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

    misfit, telling (the pair on which one more vote gives the most information): None if ties have a strength of their
    own, if not all contestants are on one scale, or if there are fewer than three. controlled: ratings with controls,
    or the reason why there are none; None if no controls were requested. raters: the agreement of all raters, None if
    there is only one.
    """

    criterion: str
    board: Board
    contestants: tuple[str, ...]
    matrix: WinMatrix
    slot_share: Estimate
    swaps: Swaps
    held_out: HeldOut | None
    triples: Triples
    misfit: Misfit | None
    telling: tuple[str, str] | None
    controlled: Adjusted | str | None
    online: Online | None
    raters: All | None
    pairs: tuple[Pair, ...]

    def to_json(self) -> Any:
        """Return all fields as plain values; unknown values are null."""
        swaps = {"pairs": len(self.swaps.games), "table": self.swaps.table, "alone": self.swaps.alone}
        return plain(
            {
                "criterion": self.criterion,
                "contestants": self.contestants,
                "board": self.board.to_json(),
                "hash": self.board.hash,
                "win_matrix": _fields(self.matrix) | {"interval": self.matrix.interval._asdict()},
                "slot_share": asdict(self.slot_share),
                "swaps": swaps | {"consistent": self.swaps.consistent, "slots": self.swaps.slots},
                "held_out": self.held_out and asdict(self.held_out),
                "triples": asdict(self.triples),
                "misfit": self.misfit and asdict(self.misfit),
                "telling": self.telling,
                "controlled": self.controlled if isinstance(self.controlled, str | None) else asdict(self.controlled),
                "online_elo": self.online and asdict(self.online),
                "agreement": {
                    "all": self.raters and asdict(self.raters),
                    "pairs": [asdict(one) for one in self.pairs],
                },
            }
        )


def report(
    criterion: str,
    votes: Votes,
    asked: RatingOptions,
    swap: str = "as-is",
    controls: Sequence[str] = (),
    elo: Elo | None = None,
) -> Report:
    """Compute the report on the votes of one criterion.

    swap: one of agreement's POLICIES. Position bias, agreement and online Elo use the games without this policy. Raise
    ValueError if an option is invalid.
    """
    rated = agreement.by_policy(votes, swap)
    board = ratings.board(rated, asked)
    several = len(np.unique(votes.counted.annotator)) > 1
    labels = agreement.labels(votes)
    pairs = agreement.pairs(labels) if several and len(labels.raters) <= RATERS_AT_MOST else []
    return Report(
        criterion,
        board,
        votes.contestants,
        ratings.win_matrix(rated, asked.level),
        agreement.slot_share(votes),
        agreement.swaps(votes),
        ratings.held_out(rated),
        ratings.cyclic_triples(rated),
        _misfit(rated, board),
        _telling(rated, board),
        _controlled(rated, controls),
        _online(votes, asked, elo),
        agreement.together(labels) if several else None,
        tuple(pairs),
    )


def _misfit(votes: Votes, board: Board) -> Misfit | None:
    if not _is_plain(board):
        return None
    found = np.nan_to_num(ratings.residuals(votes, board.groups[0].fit.theta))
    one, other = np.unravel_index(found.argmax(), found.shape)
    return Misfit(votes.contestants[one], votes.contestants[other], float(found[one, other]))


def _telling(votes: Votes, board: Board) -> tuple[str, str] | None:
    if not _is_plain(board):
        return None
    found = ratings.telling(votes, board.groups[0].fit)
    one, other = np.unravel_index(found.argmax(), found.shape)
    return votes.contestants[one], votes.contestants[other]


def _is_plain(board: Board) -> bool:
    """Return whether ties are half wins, all contestants are on one scale, and there is more than one pair."""
    return board.asked.ties == "half-win" and board.connectivity.holds and len(board.standings) > 2


def _controlled(votes: Votes, controls: Sequence[str]) -> Adjusted | str | None:
    if not controls:
        return None
    try:
        return ratings.adjusted(votes, controls)
    except ratings.NoEstimate as error:
        return str(error)


def _online(votes: Votes, asked: RatingOptions, elo: Elo | None) -> Online | None:
    if elo is None:
        return None
    anchor = asked.anchor_in(votes.contestants)
    return Online(elo, ratings.single_pass(votes, elo, anchor), ratings.over_orders(votes, elo, ORDERS, anchor=anchor))


def plain(value: Any) -> Any:
    """Return the value as plain values: arrays become lists, and numbers that are not finite become null."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(own) for key, own in value.items()}
    return [plain(own) for own in value] if isinstance(value, list | tuple) else value


def _fields(of: WinMatrix) -> dict[str, Any]:
    return {"wins": of.wins, "ties": of.ties, "both_bad": of.both_bad, "games": of.games, "share": of.share}
