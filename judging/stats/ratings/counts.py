"""Count the wins and ties of each pair of contestants: per cluster, as a table of cells, and summed.

The likelihood depends on votes only through these counts, so fits and resamples cost the same for a thousand votes and
a million.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from judging.stats.ratings.intervals import Interval
from judging.stats.votes import Floats, Ints, Outcome, Votes


@dataclass(frozen=True)
class Counts:
    """Wins and ties of each pair of contestants.

    wins[..., i, j]: how often i won against j. ties[..., i, j]: how often they tied, of either kind; symmetric.

    Both float64[..., n, n], zero on the diagonal; leading axes are resamples.
    """

    wins: Floats
    ties: Floats

    @property
    def scores(self) -> Floats:
        """Return the wins plus half a win for each tie."""
        return self.wins + self.ties / 2

    @property
    def games(self) -> Floats:
        """Return how often each pair met. Symmetric."""
        return self.wins + np.swapaxes(self.wins, -1, -2) + self.ties


@dataclass(frozen=True)
class Cells:
    """A sparse table with one entry for all equal votes of one prompt and annotator. Arrays have m entries.

    cell: int64, `i * n + j` if i won against j; n² more if they tied, with i < j. weight: float64, the sum of the
    votes' weights.
    """

    n: int
    cell: Ints
    prompt: Ints
    annotator: Ints
    weight: Floats

    def counts(self, times: Floats | None = None) -> Counts:
        """Return the summed counts, with each entry multiplied by `times` (float64[m]) if given."""
        weight = self.weight if times is None else self.weight * times
        return counts_from_cells(sum_at(self.cell, weight, 2 * self.n**2), self.n)


def build_cells(votes: Votes) -> Cells:
    """Return the counted votes as a table.

    Prompts and annotators without counted votes are left out, and the others are numbered again from 0.
    """
    counted, n = _split_soft_votes(votes.counted), len(votes.contestants)
    cell = _cell_numbers(counted, n)
    prompt, annotator = _renumber(counted.prompt), _renumber(counted.annotator)
    annotators = int(annotator.max(initial=0)) + 1
    key = (prompt * annotators + annotator) * (2 * n * n) + cell
    unique, entry = np.unique(key, return_inverse=True)
    who, cell = np.divmod(unique, max(2 * n * n, 1))
    return Cells(n, cell, who // annotators, who % annotators, sum_at(entry, counted.weight, len(unique)))


def pair_counts(votes: Votes) -> Counts:
    """Return the sums of all counted votes."""
    return build_cells(votes).counts()


def both_bad_games(votes: Votes) -> Floats:
    """Return how often both contestants of each pair were judged bad. float64[n, n], symmetric."""
    bad = votes.select(votes.outcome == Outcome.BOTH_BAD)
    return pair_counts(bad).ties


def counts_from_cells(sums: Floats, n: int) -> Counts:
    """Convert sums of cells, float64[..., 2n²], to Counts."""
    wins, upper = np.split(sums.reshape(*sums.shape[:-1], 2 * n, n), 2, axis=-2)
    return Counts(wins, upper + np.swapaxes(upper, -1, -2))


def sum_at(at: Ints, values: Floats, size: int) -> Floats:
    """Return float64[size], with each value added at its index in `at`."""
    return np.asarray(np.bincount(at.reshape(-1), values.reshape(-1), minlength=size), np.float64)


def _split_soft_votes(votes: Votes) -> Votes:
    """Return the votes with each soft preference as two: a win of a and one of b, of the weights of their shares."""
    if not votes.is_soft.any():
        return votes
    soft = np.flatnonzero(votes.is_soft)
    rows = np.concatenate([np.flatnonzero(~votes.is_soft), soft, soft])
    split, share = votes.select(rows), votes.preference[soft]
    weight, outcome = split.weight.copy(), split.outcome.copy()
    weight[-2 * len(soft) :] *= np.concatenate([share, 1 - share])
    outcome[-2 * len(soft) :] = np.repeat([Outcome.A, Outcome.B], len(soft))
    has_weight = weight > 0
    return replace(
        split.select(has_weight), weight=weight[has_weight], outcome=outcome[has_weight],
        preference=np.full(int(has_weight.sum()), np.nan),
    )  # fmt: skip


def _cell_numbers(votes: Votes, n: int) -> Ints:
    tied = votes.outcome >= Outcome.TIE
    b_won = votes.outcome == Outcome.B
    winner, loser = np.where(b_won, votes.b, votes.a), np.where(b_won, votes.a, votes.b)
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    return np.where(tied, n * n + low * n + high, winner * n + loser)


def _renumber(numbers: Ints) -> Ints:
    return np.unique(numbers, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True)
class WinMatrix:
    """Wins of each row's contestant against each column's. All arrays are float64[n, n].

    share: of games that the row won, a tie as half a win; NaN if none was played. interval: Wilson's, which takes each
    comparison as independent, even if several are on one prompt.
    """

    wins: Floats
    ties: Floats
    both_bad: Floats
    games: Floats
    share: Floats
    interval: Interval


def win_matrix(votes: Votes, level: float = 0.95) -> WinMatrix:
    """Return the win matrix of the counted votes."""
    totals = pair_counts(votes)
    games, share = totals.games, np.full(totals.games.shape, np.nan)
    np.divide(totals.scores, games, out=share, where=games > 0)
    return WinMatrix(
        totals.wins, totals.ties, both_bad_games(votes), games, share, wilson_interval(share, games, level)
    )


def wilson_interval(share: Floats, n: Floats, level: float = 0.95) -> Interval:
    """Return Wilson's (1927) interval of a share of n. NaN if n is 0."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    n = np.where(np.asarray(n) > 0, n, np.nan)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    wide = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(np.asarray(middle - wide), np.asarray(middle + wide))
