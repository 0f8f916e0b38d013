"""Shares of votes: how often contestants tie, how often both are bad, and how often the longer answer wins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.agreement.resampling import Estimate, estimate, share
from judging.stats.votes import Outcome, Votes

NO_LENGTHS = "n/a: no decided vote is on answers of known, unequal length"
LENGTH = "length"
"""The feature: above 0 where a's answer is the longer one."""
NEVER_MET = "n/a: they never met"


def longer_share(votes: Votes) -> Estimate:
    """The share of decided votes, on answers of unequal length, that the longer answer won. A half says that length
    decides nothing."""
    apart = votes.features.get(LENGTH, np.full(len(votes), np.nan))
    decided = np.flatnonzero((votes.outcome <= Outcome.B) & np.isfinite(apart) & (apart != 0))
    chosen = votes.where(decided)
    longer_won = (chosen.outcome == Outcome.A) == (apart[decided] > 0)
    tables = np.stack([longer_won, np.ones(len(chosen))], axis=1).astype(np.float64)
    return estimate(tables, chosen.prompt, share, NO_LENGTHS)


@dataclass(frozen=True)
class Ties:
    """Of two contestants, by their numbers. tied: the share of their counted votes that are ties of either kind;
    both_bad: that say that neither is any good."""

    one: int
    other: int
    votes: int
    tied: Estimate
    both_bad: Estimate


def tie_rates(votes: Votes) -> list[Ties]:
    """Of every two that met, in the order of contestants."""
    counted, n = votes.counted, len(votes.contestants)
    pair = np.minimum(counted.a, counted.b) * n + np.maximum(counted.a, counted.b)
    found = []
    for number in np.unique(pair):
        met = counted.where(pair == number)
        found.append(Ties(*divmod(int(number), n), len(met), _rate(met, Outcome.TIE), _rate(met, Outcome.BOTH_BAD)))
    return found


def _rate(met: Votes, least: Outcome) -> Estimate:
    """Of votes between two: how many came out as `least` or beyond it; a "both bad" is a tie too."""
    tables = np.stack([met.outcome >= least, np.ones(len(met))], axis=1).astype(np.float64)
    return estimate(tables, met.prompt, share, NEVER_MET)
