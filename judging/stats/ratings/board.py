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

from judging.stats.ratings.connectivity import Connectivity, NoEstimate, connectivity
from judging.stats.ratings.counts import counts
from judging.stats.ratings.groups import Rated, rate
from judging.stats.ratings.maximum_likelihood import with_prior
from judging.stats.ratings.options import RatingOptions
from judging.stats.ratings.reasons import FAILED, NO_VOTE, NOT_COMPARABLE, PRIOR
from judging.stats.ratings.standings import ContestantStanding, of_group, without
from judging.stats.votes import MISSING, Outcome, Votes

DIGITS = 6
"""Decimal places of a number in a hash: further ones are rounding errors, which differ between processors."""


@dataclass(frozen=True)
class Tally:
    """Counts and rates of a board's votes.

    tie_rate and both_bad_rate are shares of the counted votes; a "both bad" is a tie too. missing: the number of votes
    for each outcome that is not a verdict, by its name.
    """

    votes: int
    counted: int
    prompts: int
    annotators: int
    tie_rate: float
    both_bad_rate: float
    missing: dict[str, int]


@dataclass(frozen=True)
class Board:
    """Board of one criterion.

    standings: contestants, the best first. sentences: what a reader must know before any number. groups: the ratings
    that the standings are made of, with all pairwise differences.
    """

    asked: RatingOptions
    tally: Tally
    standings: tuple[ContestantStanding, ...]
    sentences: tuple[str, ...]
    groups: tuple[Rated, ...]
    connectivity: Connectivity

    def to_json(self) -> dict[str, Any]:
        """Return everything that is shown, as plain values."""
        return {
            "asked": asdict(self.asked),
            "tally": asdict(self.tally),
            "standings": [asdict(one) for one in self.standings],
            "sentences": list(self.sentences),
            "groups": [_shown(group) for group in self.groups],
        }

    @property
    def hash(self) -> str:
        """Return the SHA-256 of everything that is shown."""
        text = json.dumps(_rounded(self.to_json()), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def board(votes: Votes, asked: RatingOptions | None = None) -> Board:
    """Rate every contestant that can be rated. Raise ValueError if the anchor is not a contestant."""
    asked = asked or RatingOptions()
    asked.anchor_in(votes.contestants)
    summed = counts(votes)
    found = connectivity(with_prior(summed, asked.prior))
    standings, groups, refused = list[ContestantStanding](), list[Rated](), list[str]()
    for number, members in enumerate(found.groups, 1):
        try:
            rated = rate(votes, members, asked) if len(members) > 1 else None
        except NoEstimate as error:
            rated = None
            refused.append(str(error))
        if rated:
            groups.append(rated)
            standings += of_group(rated, number, votes.contestants, summed)
        else:
            standings += [without(member, number, votes.contestants, summed) for member in members]
    said = _sentences(votes, asked, found, groups, refused)
    return Board(asked, tally(votes), tuple(standings), said, tuple(groups), found)


def tally(votes: Votes) -> Tally:
    """Count votes by outcome."""
    counted = votes.counted
    tied, bad, size = counted.number(Outcome.TIE), counted.number(Outcome.BOTH_BAD), max(len(counted), 1)
    return Tally(
        len(votes), len(counted), len(np.unique(counted.prompt)), len(np.unique(counted.annotator)),
        (tied + bad) / size, bad / size, {one.name.lower(): votes.number(one) for one in MISSING},
    )  # fmt: skip


def _sentences(
    votes: Votes, asked: RatingOptions, found: Connectivity, groups: list[Rated], refused: list[str]
) -> tuple[str, ...]:
    if not len(votes.counted):
        return (NO_VOTE,)
    said = [*found.sentences(votes.contestants), *refused]
    said += [sentence for group in groups for sentence in group.sentences]
    anchor = asked.anchor_in(votes.contestants)
    if groups and anchor is not None and not all(anchor in group.members for group in groups):
        said.append(NOT_COMPARABLE.format(anchor=asked.anchor))
    if asked.prior:
        said.append(PRIOR.format(prior=f"{asked.prior:g}"))
    if failed := sum(votes.number(one) for one in MISSING):
        said.append(FAILED.format(failed=failed, all=len(votes)))
    return tuple(said)


def _shown(group: Rated) -> dict[str, Any]:
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


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        # So that a rounded -0.0 is the 0.0 that it may be elsewhere.
        return round(value, DIGITS) + 0.0 if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _rounded(own) for key, own in value.items()}
    return [_rounded(own) for own in value] if isinstance(value, list | tuple) else value
