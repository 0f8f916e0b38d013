"""Compute what else may decide votes: position, the swap policy, the worth of ties and the length of responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from judging.stats import agreement, ratings
from judging.stats.agreement import POLICIES
from judging.stats.agreement.shares import LENGTH
from judging.stats.ratings import ELO_PER_NAT, POSITION, Board, ControlledRatings, NoEstimate, RatingOptions
from judging.stats.ratings.intervals import standard_errors
from judging.stats.ratings.scale import INIT
from judging.stats.votes import Bools, Votes
from workers.analysis.student_t import t_quantile

MAX_RATERS = 12
"""If there are more annotators, only those with the most verdicts have numbers of their own."""


def position_panel(votes: Votes, is_person: Bools) -> dict[str, Any]:
    """Compute how often the first position wins, for everybody and for each judge, and what a swap of sides changes.

    rows: the share of the first position and its worth, by annotator. table, pairs, alone and consistency: the outcomes
    of games that were judged both ways round, as `agreement.find_swaps` and `agreement.swap_consistency`
    return them.
    """
    swaps = agreement.find_swaps(votes)
    return {
        "rows": [{"who": name, **_first_position_effect(subset)} for name, subset in _votes_by_rater(votes, is_person)],
        "table": swaps.table,
        "pairs": len(swaps.games),
        "alone": swaps.alone,
        "consistency": asdict(agreement.swap_consistency(votes)),
    }


def policies_panel(votes: Votes) -> dict[str, Any]:
    """Return a board for each swap policy, or no boards if no pair was judged both ways round: all would be equal."""
    if not len(agreement.find_swaps(votes).games):
        return {"boards": {}}
    return {
        "boards": {name: _board(ratings.compute_board(agreement.apply_swap_policy(votes, name))) for name in POLICIES}
    }


def ties_panel(votes: Votes) -> dict[str, Any]:
    """Compute ratings with each tie model, and how often each pair ties.

    The models are ties as half wins and ties with a strength of their own (Davidson). The two have different scales. nu
    is the strength of ties, or None if the Davidson board has more or fewer groups than one.
    """
    boards = {tie_model: ratings.compute_board(votes, RatingOptions(ties=tie_model)) for tie_model in ratings.TIES}
    nu = boards["davidson"].groups[0].fit.nu if len(boards["davidson"].groups) == 1 else None
    return {
        "boards": {tie_model: _board(board) for tie_model, board in boards.items()},
        "nu": None if nu is None else float(nu),
        "pairs": [asdict(pair) for pair in agreement.pair_tie_rates(votes)],
    }


def length_panel(votes: Votes) -> dict[str, Any]:
    """Compute how often the longer response wins, and ratings of the same votes with and without length as a control.

    Ratings use only votes of known length. `why` of the result: the reason why there are no ratings, else empty.
    """
    with_length = votes.select(np.isfinite(votes.features.get(LENGTH, np.full(len(votes), np.nan))))
    summary: dict[str, Any] = {"share": asdict(agreement.longer_share(votes)), "votes": len(with_length.counted)}
    try:
        plain, controlled = (ratings.controlled_ratings(with_length, controls) for controls in ([], [LENGTH]))
    except NoEstimate as error:
        return summary | {"why": str(error), "rows": []}
    effect = controlled.effects[LENGTH]
    rows = zip(_ratings(plain), _ratings(controlled), strict=True)
    return summary | {
        "why": "", "effect": _elo(effect.value, effect.error, controlled.freedom),
        "rows": [{"contestant": k, "plain": plain_elo, "controlled": controlled_elo}
                 for k, (plain_elo, controlled_elo) in enumerate(rows)],
    }  # fmt: skip


def most_active(votes: Votes, selected: Bools) -> list[int]:
    """Return the numbers of the RATERS_AT_MOST annotators with the most votes, in ascending order.

    selected: bool[annotators], the annotators to select from. Annotators without votes are left out.
    """
    vote_counts = np.bincount(votes.counted.annotator, minlength=len(votes.annotators)) * selected
    order = np.argsort(-vote_counts, kind="stable")[:MAX_RATERS]
    return sorted(int(k) for k in order if vote_counts[k])


def _votes_by_rater(votes: Votes, is_person: Bools) -> Iterator[tuple[str, Votes]]:
    """Yield (rater, votes). "" means all raters, "people" means all voters; any other text is a judge's name."""
    yield "", votes
    by_person = is_person[votes.annotator] if len(votes) else np.zeros(0, np.bool_)
    if by_person.any() and not by_person.all():
        yield "people", votes.select(by_person)
    judges = most_active(votes, ~is_person)
    for number in judges if len(judges) > 1 or by_person.any() else []:
        yield votes.annotators[number], votes.select(votes.annotator == number)


def _first_position_effect(votes: Votes) -> dict[str, Any]:
    """Compute the share that the first position wins, and its worth in Elo; `why` is the reason if there is none."""
    summary: dict[str, Any] = {"votes": len(votes.counted), "share": asdict(agreement.slot_share(votes))}
    try:
        controlled = ratings.controlled_ratings(votes, [POSITION])
    except NoEstimate as error:
        return summary | {"worth": None, "why": str(error)}
    effect = controlled.effects[POSITION]
    return summary | {"worth": _elo(effect.value, effect.error, controlled.freedom), "why": ""}


def _board(board: Board) -> dict[str, Any]:
    standings = [
        {
            "contestant": standing.contestant,
            "group": standing.group,
            **(asdict(standing.rating) if standing.rating else {"value": None}),
        }
        for standing in board.standings
    ]
    return {"standings": standings, "sentences": board.sentences, "votes": board.tally.counted}


def _ratings(adjusted: ControlledRatings) -> Sequence[dict[str, float]]:
    return [
        _elo(theta, error, adjusted.freedom, INIT)
        for theta, error in zip(adjusted.theta.tolist(), standard_errors(adjusted.covariance).tolist(), strict=True)
    ]


def _elo(value: float, error: float, freedom: int, middle: float = 0.0) -> dict[str, float]:
    """Convert a value and its clustered standard error from nats to Elo around `middle`, with a 95 % interval by
    Student's t."""
    wide = t_quantile(freedom) * error * ELO_PER_NAT
    centre = middle + value * ELO_PER_NAT
    return {"value": centre, "low": centre - wide, "high": centre + wide}
