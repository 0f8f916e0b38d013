"""Votes -> how often each won against, and tied with, each other: per cluster as a table of cells, and summed.

The likelihood knows votes only through these, so that fits and resamples cost the same for a thousand votes and a
million.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from judging.stats.ratings.intervals import Interval
from judging.stats.votes import Floats, Ints, Outcome, Votes


@dataclass(frozen=True)
class Counts:
    """wins[..., i, j]: how often i beat j. ties[..., i, j]: how often they tied, of either kind; symmetric.

    Both float64[..., n, n], zero on the diagonal; leading axes are resamples.
    """

    wins: Floats
    ties: Floats

    @property
    def scores(self) -> Floats:
        """Wins with a half for each tie."""
        return self.wins + self.ties / 2

    @property
    def games(self) -> Floats:
        """How often they met. Symmetric."""
        return self.wins + np.swapaxes(self.wins, -1, -2) + self.ties


@dataclass(frozen=True)
class Cells:
    """A sparse table, one entry for all like votes of one prompt and annotator. Arrays of m entries.

    cell: int64, `i * n + j` where i beat j; n² more where they tied, with i < j. weight: float64, the votes' sum.
    """

    n: int
    cell: Ints
    prompt: Ints
    annotator: Ints
    weight: Floats

    def counts(self, times: Floats | None = None) -> Counts:
        """Summed up, each entry `times` (float64[m]) over."""
        weight = self.weight if times is None else self.weight * times
        return of_cells(summed(self.cell, weight, 2 * self.n**2), self.n)


def cells(votes: Votes) -> Cells:
    """The counted votes as a table; prompts and annotators that judged nothing are not in it, so that they are
    numbered anew from 0."""
    counted, n = votes.counted, len(votes.contestants)
    cell = _cell(counted, n)
    prompt, annotator = _renumbered(counted.prompt), _renumbered(counted.annotator)
    annotators = int(annotator.max(initial=0)) + 1
    key = (prompt * annotators + annotator) * (2 * n * n) + cell
    unique, entry = np.unique(key, return_inverse=True)
    who, cell = np.divmod(unique, max(2 * n * n, 1))
    return Cells(n, cell, who // annotators, who % annotators, summed(entry, counted.weight, len(unique)))


def counts(votes: Votes) -> Counts:
    """All counted votes, summed."""
    return cells(votes).counts()


def both_bad(votes: Votes) -> Floats:
    """How often both of a pair were found bad. float64[n, n], symmetric."""
    bad = votes.where(votes.outcome == Outcome.BOTH_BAD)
    return counts(bad).ties


def of_cells(sums: Floats, n: int) -> Counts:
    """float64[..., 2n²] -> Counts."""
    wins, upper = np.split(sums.reshape(*sums.shape[:-1], 2 * n, n), 2, axis=-2)
    return Counts(wins, upper + np.swapaxes(upper, -1, -2))


def summed(at: Ints, values: Floats, size: int) -> Floats:
    """float64[size], each value added where it belongs."""
    return np.asarray(np.bincount(at.reshape(-1), values.reshape(-1), minlength=size), np.float64)


def _cell(votes: Votes, n: int) -> Ints:
    tied = votes.outcome >= Outcome.TIE
    b_won = votes.outcome == Outcome.B
    winner, loser = np.where(b_won, votes.b, votes.a), np.where(b_won, votes.a, votes.b)
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    return np.where(tied, n * n + low * n + high, winner * n + loser)


def _renumbered(numbers: Ints) -> Ints:
    return np.unique(numbers, return_inverse=True)[1].reshape(-1)


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
