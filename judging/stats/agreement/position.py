"""Whether standing first helps: how often it won, and what happened when the same two swapped sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from judging.stats.agreement.labels import KINDS, TIE
from judging.stats.agreement.resampling import Estimate, estimate, share
from judging.stats.votes import Bools, Floats, Ints, Outcome, Votes

NO_SIDES = "n/a: no decided vote says who stood first"
NOT_BOTH_WAYS = "n/a: no pair was judged both ways round"
MERGING = ("tie", "consistent")
"""Those of POLICIES in which two games become one vote, in which nobody stood first."""
POLICIES = {
    "as-is": "every game is a vote",
    "half": "two games of one pair are half a vote each",
    "tie": "one vote a pair; a tie where the two games differ",
    "consistent": "one vote a pair, where the two games agree",
}


@dataclass(frozen=True)
class Swaps:
    """Games of one annotator on one prompt and pair, seen both ways round. games: int64[pairs, 2], numbers of votes; in
    the first, the contestant of lower number stood first. table: float64[3, 3], what the first said by the second:
    lower wins, tie, higher wins. alone: games without a counterpart."""

    games: Ints
    table: Floats
    alone: int

    @property
    def consistent(self) -> float | None:
        """The share of pairs with the same outcome both ways; None without pairs."""
        return float(self.table.trace() / len(self.games)) if len(self.games) else None

    @property
    def slots(self) -> tuple[float, float]:
        """How many pairs were won by the first slot both times, and by the second."""
        return float(self.table[0, -1]), float(self.table[-1, 0])


def slot_share(votes: Votes) -> Estimate:
    """The share of decided votes, of known order, that who stood first won. A half is no bias."""
    decided = votes.where((votes.outcome <= Outcome.B) & (votes.shown_first != 0))
    first_won = (decided.outcome == Outcome.A) == (decided.shown_first == 1)
    tables = np.stack([first_won, np.ones(len(decided))], axis=1).astype(np.float64)
    return estimate(tables, decided.prompt, share, NO_SIDES)


def consistency(votes: Votes) -> Estimate:
    """The share of pairs, judged both ways round, with the same outcome both times."""
    games, said = swaps(votes).games, toward(votes)
    alike = said[games[:, 0]] == said[games[:, 1]]
    tables = np.stack([alike, np.ones(len(games))], axis=1).astype(np.float64)
    return estimate(tables, votes.prompt[games[:, 0]], share, NOT_BOTH_WAYS)


def swaps(votes: Votes) -> Swaps:
    """Pairs up games that differ only in who stood first; of several alike, in their order."""
    known = np.flatnonzero((votes.shown_first != 0) & (votes.outcome <= Outcome.BOTH_BAD))
    chosen, n = votes.where(known), len(votes.contestants)
    low, high = np.minimum(chosen.a, chosen.b), np.maximum(chosen.a, chosen.b)
    key = ((chosen.prompt * len(votes.annotators) + chosen.annotator) * n + low) * n + high
    low_first = (chosen.a == low) == (chosen.shown_first == 1)
    key = np.unique(key, return_inverse=True)[1].reshape(-1) * (len(key) + 1) + _occurrence(key, low_first)
    one, other = np.flatnonzero(low_first), np.flatnonzero(~low_first)
    _, at_one, at_other = np.intersect1d(key[one], key[other], assume_unique=True, return_indices=True)
    games = np.stack([known[one[at_one]], known[other[at_other]]], axis=1)
    table, said = np.zeros((KINDS, KINDS)), toward(votes)
    np.add.at(table, (said[games[:, 0]], said[games[:, 1]]), 1)
    return Swaps(games, table, len(known) - 2 * len(games))


def by_policy(votes: Votes, policy: str) -> Votes:
    """The votes as one of POLICIES has them. Raises ValueError for another."""
    if policy not in POLICIES:
        raise ValueError(f"the swap policy must be one of {', '.join(POLICIES)}, not {policy!r}")
    games, said = swaps(votes).games, toward(votes)
    alike = said[games[:, 0]] == said[games[:, 1]]
    if policy == "as-is":
        return votes
    if policy == "half":
        weight = votes.weight.copy()
        weight[games] /= 2
        return replace(votes, weight=weight)
    first = votes.shown_first.copy()
    first[games] = 0
    votes = replace(votes, shown_first=first)
    if policy == "consistent":
        return votes.where(np.sort(games[alike, 0]))
    outcome = votes.outcome.copy()
    outcome[games[~alike, 0]] = Outcome.TIE
    kept = np.ones(len(votes), np.bool_)
    kept[games[:, 1]] = False
    return replace(votes, outcome=outcome).where(kept)


def toward(votes: Votes) -> Ints:
    """0 where the contestant of lower number won, 1 for a tie of either kind, 2 where the other did."""
    lower_won = (votes.outcome == Outcome.A) == (votes.a < votes.b)
    return np.where(votes.outcome >= Outcome.TIE, TIE, np.where(lower_won, 0, KINDS - 1)).astype(np.int64)


def _occurrence(key: Ints, side: Bools) -> Ints:
    """Which of its like, counted from 0, each is."""
    order = np.lexsort((side, key))
    starts = np.flatnonzero(np.r_[True, (np.diff(key[order]) != 0) | (side[order][1:] != side[order][:-1])][: len(key)])
    found = np.empty(len(key), np.int64)
    found[order] = np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)]))
    return found
