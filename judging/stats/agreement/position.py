"""Position bias: how often the first position won, and the outcomes of the same pair with swapped sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from judging.stats.agreement.labels import KINDS, TIE
from judging.stats.votes import Bools, Floats, Ints, Outcome, Votes
from workers.analysis.resampling import Estimate, estimate_statistic, share_statistic

NO_SIDES = "n/a: no decided vote says who stood first"
NOT_BOTH_WAYS = "n/a: no pair was judged both ways round"
MERGING = ("tie", "consistent")
"""The POLICIES that merge two games into one vote, which has no first position."""
POLICIES = {
    "as-is": "every game is a vote",
    "half": "two games of one pair are half a vote each",
    "tie": "one vote a pair; a tie where the two games differ",
    "consistent": "one vote a pair, where the two games agree",
}


@dataclass(frozen=True)
class Swaps:
    """Games of one annotator on one prompt and pair, judged both ways round.

    games: int64[pairs, 2], numbers of votes; in the first vote, the contestant of lower number was in first position.
    table: float64[3, 3], outcomes of the first game by those of the second: lower wins, tie, higher wins. alone: the
    number of games without a counterpart.
    """

    games: Ints
    table: Floats
    alone: int

    @property
    def consistent(self) -> float | None:
        """Return the share of pairs with the same outcome both ways, or None without pairs."""
        return float(self.table.trace() / len(self.games)) if len(self.games) else None

    @property
    def slots(self) -> tuple[float, float]:
        """Return the number of pairs that the first slot won both times, and the number that the second slot won."""
        return float(self.table[0, -1]), float(self.table[-1, 0])


def slot_share(votes: Votes) -> Estimate:
    """Estimate the share of decided votes with known order that the first position won. A half means no bias."""
    decided = votes.select((votes.outcome <= Outcome.B) & (votes.shown_first != 0))
    first_won = (decided.outcome == Outcome.A) == (decided.shown_first == 1)
    tables = np.stack([first_won, np.ones(len(decided))], axis=1).astype(np.float64)
    return estimate_statistic(tables, decided.prompt, share_statistic, NO_SIDES)


def swap_consistency(votes: Votes) -> Estimate:
    """Estimate the share of pairs, judged both ways round, with the same outcome both times."""
    games, labels = find_swaps(votes).games, outcome_labels(votes)
    alike = labels[games[:, 0]] == labels[games[:, 1]]
    tables = np.stack([alike, np.ones(len(games))], axis=1).astype(np.float64)
    return estimate_statistic(tables, votes.prompt[games[:, 0]], share_statistic, NOT_BOTH_WAYS)


def find_swaps(votes: Votes) -> Swaps:
    """Pair up games that differ only in the first position; several equal games are paired in their order."""
    with_order = np.flatnonzero((votes.shown_first != 0) & (votes.outcome <= Outcome.BOTH_BAD))
    candidates, n = votes.select(with_order), len(votes.contestants)
    low, high = np.minimum(candidates.a, candidates.b), np.maximum(candidates.a, candidates.b)
    key = ((candidates.prompt * len(votes.annotators) + candidates.annotator) * n + low) * n + high
    low_first = (candidates.a == low) == (candidates.shown_first == 1)
    key = np.unique(key, return_inverse=True)[1].reshape(-1) * (len(key) + 1) + _occurrence(key, low_first)
    lower_first, higher_first = np.flatnonzero(low_first), np.flatnonzero(~low_first)
    _, at_lower, at_higher = np.intersect1d(
        key[lower_first], key[higher_first], assume_unique=True, return_indices=True
    )
    games = np.stack([with_order[lower_first[at_lower]], with_order[higher_first[at_higher]]], axis=1)
    table, labels = np.zeros((KINDS, KINDS)), outcome_labels(votes)
    np.add.at(table, (labels[games[:, 0]], labels[games[:, 1]]), 1)
    return Swaps(games, table, len(with_order) - 2 * len(games))


def apply_swap_policy(votes: Votes, policy: str) -> Votes:
    """Return the votes after applying one of POLICIES. Raise ValueError for any other policy."""
    if policy not in POLICIES:
        raise ValueError(f"the swap policy must be one of {', '.join(POLICIES)}, not {policy!r}")
    games, labels = find_swaps(votes).games, outcome_labels(votes)
    alike = labels[games[:, 0]] == labels[games[:, 1]]
    if policy == "as-is":
        return votes
    if policy == "half":
        weight = votes.weight.copy()
        weight[games] /= 2
        return replace(votes, weight=weight)
    first = votes.shown_first.copy()
    first[games] = 0
    votes = replace(votes, shown_first=first)
    votes = replace(votes, preference=_merged_preferences(votes, games[alike]))
    if policy == "consistent":
        return votes.select(np.sort(games[alike, 0]))
    outcome = votes.outcome.copy()
    outcome[games[~alike, 0]], votes.preference[games[~alike, 0]] = Outcome.TIE, np.nan
    is_counted = np.ones(len(votes), np.bool_)
    is_counted[games[:, 1]] = False
    return replace(votes, outcome=outcome).select(is_counted)


def _merged_preferences(votes: Votes, games: Ints) -> Floats:
    """Return the preferences, with the first of each two games given the mean of both if either is soft. float64[n]."""
    soft = games[votes.is_soft[games].any(axis=1)]
    first, second = (votes.select(soft[:, k]) for k in range(2))
    of_first_a = np.where(first.a == second.a, second.score, 1 - second.score)
    preference = votes.preference.copy()
    preference[soft[:, 0]] = (first.score + of_first_a) / 2
    return preference


def outcome_labels(votes: Votes) -> Ints:
    """Return 0 if the contestant of lower number won, 1 for a tie of either kind, 2 if the other won. int64[n]."""
    lower_won = (votes.outcome == Outcome.A) == (votes.a < votes.b)
    return np.where(votes.outcome >= Outcome.TIE, TIE, np.where(lower_won, 0, KINDS - 1)).astype(np.int64)


def _occurrence(key: Ints, side: Bools) -> Ints:
    """Return for each entry its index, from 0, among the entries of equal key and side."""
    order = np.lexsort((side, key))
    starts = np.flatnonzero(np.r_[True, (np.diff(key[order]) != 0) | (side[order][1:] != side[order][:-1])][: len(key)])
    occurrence = np.empty(len(key), np.int64)
    occurrence[order] = np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)]))
    return occurrence
