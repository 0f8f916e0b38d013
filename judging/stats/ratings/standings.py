"""Standings: the rows of a board, one for each contestant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.counts import Counts
from judging.stats.ratings.groups import GroupRatings, group_order
from judging.stats.ratings.intervals import Interval
from judging.stats.votes import Floats


@dataclass(frozen=True)
class Range:
    """A number on the Elo scale with its interval; low and high are None if no interval is known."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Lead:
    """Lead of a contestant over the next one of its group: `of` is the next one's name, `by` the difference."""

    of: str
    by: Range


@dataclass(frozen=True)
class Record:
    """Weighted numbers of a contestant's votes, wins, losses and ties, as counted, without any model."""

    votes: float
    wins: float
    losses: float
    ties: float


@dataclass(frozen=True)
class ContestantStanding:
    """Standing of a contestant on a board.

    group: number of its group of comparable contestants, from 1, the better groups first if votes decide that. rating:
    with the group's mean at init; anchored: with the anchor at init; None if there is none. p_first: the probability of
    being the group's best. rank_range: the ranks of the group that the intervals of differences leave open.
    """

    contestant: str
    group: int
    rating: Range | None
    anchored: Range | None
    p_first: float | None
    rank_range: tuple[int, int] | None
    ahead: Lead | None
    record: Record


def group_standings(
    rated: GroupRatings, group: int, names: tuple[str, ...], counts: Counts
) -> list[ContestantStanding]:
    """Return the standings of a rated group, the best first."""
    ranking = group_order(rated)
    below = [*ranking[1:], None]
    return [
        ContestantStanding(
            names[rated.members[position]],
            group,
            _range(rated.centred, rated.centred_interval, position),
            None if rated.anchored is None else _range(rated.anchored, rated.anchored_interval, position),
            None if rated.ranks is None else float(rated.ranks[position, 0]),
            None
            if rated.rank_range is None
            else (int(rated.rank_range[position, 0]), int(rated.rank_range[position, 1])),
            None
            if next_position is None
            else Lead(names[rated.members[next_position]], rating_difference(rated, position, next_position)),
            count_record(rated.members[position], counts),
        )
        for position, next_position in zip(ranking, below, strict=True)
    ]


def unrated_standing(number: int, group: int, names: tuple[str, ...], counts: Counts) -> ContestantStanding:
    """Return the standing of a contestant that cannot be rated."""
    return ContestantStanding(names[number], group, None, None, None, None, None, count_record(number, counts))


def rating_difference(rated: GroupRatings, i: int, j: int) -> Range:
    """Return how far position i of a group is ahead of position j, with its interval."""
    interval = rated.difference_interval
    low, high = (None, None) if interval is None else (float(interval.low[i, j]), float(interval.high[i, j]))
    return Range(float(rated.difference[i, j]), low, high)


def count_record(number: int, counts: Counts) -> Record:
    """Return the numbers of a contestant's votes, wins, losses and ties."""
    wins, losses, ties = counts.wins[number].sum(), counts.wins[:, number].sum(), counts.ties[number].sum()
    return Record(float(wins + losses + ties), float(wins), float(losses), float(ties))


def _range(values: Floats, interval: Interval | None, position: int) -> Range:
    if interval is None:
        return Range(float(values[position]), None, None)
    return Range(
        float(values[position]), float(np.asarray(interval.low)[position]), float(np.asarray(interval.high)[position])
    )
