"""Compute a board from the votes of one criterion: each contestant's rating, or the reason why it has none.

A board can be written as JSON and hashed: equal votes give equal boards.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from judging.stats.ratings.connectivity import Connectivity, NoEstimate, check_connectivity
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.groups import GroupRatings, rate_group
from judging.stats.ratings.maximum_likelihood import add_prior
from judging.stats.ratings.options import RatingOptions
from judging.stats.ratings.reasons import FAILED, NO_VOTE, NOT_COMPARABLE, PRIOR
from judging.stats.ratings.standings import ContestantStanding, group_standings, unrated_standing
from judging.stats.votes import MISSING, Outcome, Votes

INTERVALS = "t"
"""Kind of all intervals: Student's t. Boards without this entry have percentiles of resamples."""
DIGITS = 6
"""Decimal places of a number in a hash: further ones are rounding errors, which differ between processors."""


@dataclass(frozen=True)
class Tally:
    """Counts and rates of a board's votes.

    tie_rate and both_bad_rate are shares of the counted votes; a "both bad" is a tie too. missing: the number of votes
    for each outcome that is not a verdict, by its name. soft: the number of soft preferences among the counted votes.
    """

    votes: int
    counted: int
    prompts: int
    annotators: int
    tie_rate: float
    both_bad_rate: float
    missing: dict[str, int]
    soft: int


@dataclass(frozen=True)
class Board:
    """Board of one criterion.

    standings: contestants, the best first. sentences: what a reader must know before any number. groups: the ratings
    that the standings are made of, with all pairwise differences.
    """

    options: RatingOptions
    tally: Tally
    standings: tuple[ContestantStanding, ...]
    sentences: tuple[str, ...]
    groups: tuple[GroupRatings, ...]
    connectivity: Connectivity

    def to_json(self) -> dict[str, Any]:
        """Return everything that is shown, as plain values."""
        return {
            "asked": asdict(self.options),
            "tally": asdict(self.tally),
            "standings": [asdict(standing) for standing in self.standings],
            "sentences": list(self.sentences),
            "groups": [_group_json(group) for group in self.groups],
            "intervals": INTERVALS,
        }

    @property
    def hash(self) -> str:
        """Return the SHA-256 of everything that is shown."""
        text = json.dumps(_round_numbers(self.to_json()), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def compute_board(votes: Votes, options: RatingOptions | None = None) -> Board:
    """Rate every contestant that can be rated. Raise ValueError if the anchor is not a contestant."""
    options = options or RatingOptions()
    options.anchor_in(votes.contestants)
    summed = pair_counts(votes)
    connected = check_connectivity(add_prior(summed, options.prior))
    standings, groups, refusals = list[ContestantStanding](), list[GroupRatings](), list[str]()
    for number, members in enumerate(connected.groups, 1):
        try:
            rated = rate_group(votes, members, options) if len(members) > 1 else None
        except NoEstimate as error:
            rated = None
            refusals.append(str(error))
        if rated:
            groups.append(rated)
            standings += group_standings(rated, number, votes.contestants, summed)
        else:
            standings += [unrated_standing(member, number, votes.contestants, summed) for member in members]
    sentences = _sentences(votes, options, connected, groups, refusals)
    return Board(options, count_tally(votes), tuple(standings), sentences, tuple(groups), connected)


def count_tally(votes: Votes) -> Tally:
    """Count votes by outcome."""
    counted = votes.counted
    tied, bad, size = counted.count_outcome(Outcome.TIE), counted.count_outcome(Outcome.BOTH_BAD), max(len(counted), 1)
    return Tally(
        len(votes), len(counted), len(np.unique(counted.prompt)), len(np.unique(counted.annotator)),
        (tied + bad) / size, bad / size, {outcome.name.lower(): votes.count_outcome(outcome) for outcome in MISSING},
        int(counted.is_soft.sum()),
    )  # fmt: skip


def _sentences(
    votes: Votes, options: RatingOptions, connected: Connectivity, groups: list[GroupRatings], refusals: list[str]
) -> tuple[str, ...]:
    if not len(votes.counted):
        return (NO_VOTE,)
    sentences = [*connected.sentences(votes.contestants), *refusals]
    sentences += [sentence for group in groups for sentence in group.sentences]
    anchor = options.anchor_in(votes.contestants)
    if groups and anchor is not None and not all(anchor in group.members for group in groups):
        sentences.append(NOT_COMPARABLE.format(anchor=options.anchor))
    if options.prior:
        sentences.append(PRIOR.format(prior=f"{options.prior:g}"))
    if failed := sum(votes.count_outcome(outcome) for outcome in MISSING):
        sentences.append(FAILED.format(failed=failed, all=len(votes)))
    return tuple(sentences)


def _group_json(group: GroupRatings) -> dict[str, Any]:
    interval, draws = group.difference_interval, group.draws
    return {
        "members": list(group.members),
        "nu": float(group.fit.nu),
        "error": None if group.error is None else group.error.tolist(),
        "difference": group.difference.tolist(),
        "difference_low": None if interval is None else interval.low.tolist(),
        "difference_high": None if interval is None else interval.high.tolist(),
        "rank_probabilities": None if group.ranks is None else group.ranks.tolist(),
        "clusters": None if draws is None else draws.clusters,
        "resamples_failed": None if draws is None else draws.failed,
    }


def _round_numbers(value: Any) -> Any:
    if isinstance(value, float):
        # So that a rounded -0.0 is the 0.0 that it may be elsewhere.
        return round(value, DIGITS) + 0.0 if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _round_numbers(own) for key, own in value.items()}
    return [_round_numbers(own) for own in value] if isinstance(value, list | tuple) else value
