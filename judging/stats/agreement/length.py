"""Whether the longer answer wins. It may deserve to: a share says nothing of why."""

from __future__ import annotations

import numpy as np

from judging.stats.agreement.resampling import Estimate, estimate, share
from judging.stats.votes import Outcome, Votes

NO_LENGTHS = "n/a: no decided vote is on answers of known, unequal length"
LENGTH = "length"
"""The feature: above 0 where a's answer is the longer one."""


def longer_share(votes: Votes) -> Estimate:
    """The share of decided votes, on answers of unequal length, that the longer answer won. A half says that length
    decides nothing."""
    apart = votes.features.get(LENGTH, np.full(len(votes), np.nan))
    decided = np.flatnonzero((votes.outcome <= Outcome.B) & np.isfinite(apart) & (apart != 0))
    chosen = votes.where(decided)
    longer_won = (chosen.outcome == Outcome.A) == (apart[decided] > 0)
    tables = np.stack([longer_won, np.ones(len(chosen))], axis=1).astype(np.float64)
    return estimate(tables, chosen.prompt, share, NO_LENGTHS)
