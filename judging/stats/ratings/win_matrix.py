"""Who won how often against whom, with how many comparisons that is and how sure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from judging.stats.ratings.counts import both_bad, counts
from judging.stats.ratings.intervals import Interval
from judging.stats.votes import Floats, Votes


@dataclass(frozen=True)
class WinMatrix:
    """Row against column, all float64[n, n]. share: of games that the row won, ties halved; NaN where none was played.
    interval: Wilson's, each comparison taken as one of its own, also where several are on one prompt."""

    wins: Floats
    ties: Floats
    both_bad: Floats
    games: Floats
    share: Floats
    interval: Interval


def win_matrix(votes: Votes, level: float = 0.95) -> WinMatrix:
    """Of the counted votes."""
    found = counts(votes)
    games, share = found.games, np.full(found.games.shape, np.nan)
    np.divide(found.scores, games, out=share, where=games > 0)
    return WinMatrix(found.wins, found.ties, both_bad(votes), games, share, wilson(share, games, level))


def wilson(share: Floats, n: Floats, level: float = 0.95) -> Interval:
    """Wilson's (1927) interval of a share of n. NaN where n is 0."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    n = np.where(np.asarray(n) > 0, n, np.nan)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    wide = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(np.asarray(middle - wide), np.asarray(middle + wide))
