"""Shares of votes: how often contestants tie, how often both are bad, and how often the longer response wins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.votes import Outcome, Votes
from workers.analysis.resampling import Estimate, estimate_statistic, share_statistic

NO_LENGTHS = "n/a: no decided vote is on answers of known, unequal length"
LENGTH = "length"
"""Name of the feature that is above 0 if a's response is the longer one."""
NEVER_MET = "n/a: they never met"


def longer_share(votes: Votes) -> Estimate:
    """Return the share of decided votes, on responses of unequal length, that the longer response won.

    A share of one half means that length decides nothing.
    """
    apart = votes.features.get(LENGTH, np.full(len(votes), np.nan))
    decided = np.flatnonzero((votes.outcome <= Outcome.B) & np.isfinite(apart) & (apart != 0))
    decided_votes = votes.select(decided)
    longer_won = (decided_votes.outcome == Outcome.A) == (apart[decided] > 0)
    tables = np.stack([longer_won, np.ones(len(decided_votes))], axis=1).astype(np.float64)
    return estimate_statistic(tables, decided_votes.prompt, share_statistic, NO_LENGTHS)


@dataclass(frozen=True)
class PairTieRates:
    """Ties between two contestants, `one` and `other`, given by their numbers.

    tied: the share of their counted votes that are ties of either kind. both_bad: the share that call both responses
    bad.
    """

    one: int
    other: int
    votes: int
    tied: Estimate
    both_bad: Estimate


def pair_tie_rates(votes: Votes) -> list[PairTieRates]:
    """Return the ties of every two contestants that met, in the order of contestants."""
    counted, n = votes.counted, len(votes.contestants)
    pair = np.minimum(counted.a, counted.b) * n + np.maximum(counted.a, counted.b)
    rates = []
    for number in np.unique(pair):
        met = counted.select(pair == number)
        rates.append(
            PairTieRates(
                *divmod(int(number), n),
                len(met),
                _outcome_share(met, Outcome.TIE),
                _outcome_share(met, Outcome.BOTH_BAD),
            )
        )
    return rates


def _outcome_share(met: Votes, least: Outcome) -> Estimate:
    """Return the share of the votes between two contestants that have outcome `least` or a later one.

    A "both bad" is a tie too.
    """
    tables = np.stack([met.outcome >= least, np.ones(len(met))], axis=1).astype(np.float64)
    return estimate_statistic(tables, met.prompt, share_statistic, NEVER_MET)
