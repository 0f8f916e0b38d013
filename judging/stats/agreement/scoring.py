"""Votes against a scorer that was never asked who won: whether whom it scores higher is whom judges prefer.

Where a run was trained on the scorer, a contestant whose wins the scorer over-predicts has learnt the scorer and not
the task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.agreement.resampling import Estimate, estimate, share
from judging.stats.votes import Floats, Outcome, Votes

NOTHING = "n/a: no decided vote is on two answers that it scored unequally"


@dataclass(frozen=True)
class Alike:
    """votes: decided ones, on answers that the scorer scored unequally. alike: the share of them in which it prefers
    the one that won."""

    votes: int
    alike: Estimate


@dataclass(frozen=True)
class OfContestant:
    """Of one contestant's votes. said: the share that it should have won by its scores; won: that it did win; over:
    the first less the second, wholly above 0 where the scorer thinks too well of it."""

    contestant: int
    all: Alike
    said: Estimate
    won: Estimate
    over: Estimate


@dataclass(frozen=True)
class Against:
    """categories: of all contestants' votes, by name, which overlap; an empty name is of prompts of none. cells: by
    contestant's number and category's name. unscored: decided votes of which the scorer says nothing: a score is
    missing, or both are equal."""

    all: Alike
    contestants: tuple[OfContestant, ...]
    categories: dict[str, Alike]
    cells: dict[tuple[int, str], Alike]
    unscored: int


def preferred(votes: Votes, scores: Floats) -> Floats:
    """How far each vote's a is scored above its b; NaN where a score is missing. float64[n].

    scores: float64[prompts, contestants], NaN where there is none, the higher the better.
    """
    return np.asarray(scores[votes.prompt, votes.a] - scores[votes.prompt, votes.b])


def against(votes: Votes, scores: Floats) -> Against:
    """The decided votes held against scores, float64[prompts, contestants], the higher the better. Intervals resample
    prompts with all their votes."""
    decided = votes.where(votes.outcome <= Outcome.B)
    apart = preferred(decided, scores)
    says = np.isfinite(apart) & (apart != 0)
    used, apart = decided.where(says), apart[says]
    hit = ((used.outcome == Outcome.A) == (apart > 0)).astype(np.float64)
    own = [(used.a == k) | (used.b == k) for k in range(len(votes.contestants))]
    by_category = used.categories
    return Against(
        _alike(used, hit, np.ones(len(used), np.bool_)),
        tuple(_contestant(used, hit, apart, k) for k in range(len(own))),
        {name: _alike(used, hit, chosen) for name, chosen in by_category.items()},
        {
            (k, name): _alike(used, hit, mine & chosen)
            for k, mine in enumerate(own)
            for name, chosen in by_category.items()
        },
        len(decided) - len(used),
    )


def _alike(votes: Votes, hit: Floats, chosen: np.ndarray) -> Alike:
    tables = np.stack([hit, np.ones(len(hit))], axis=1)[chosen]
    return Alike(len(tables), estimate(tables, votes.prompt[chosen], share, NOTHING))


def _contestant(votes: Votes, hit: Floats, apart: Floats, k: int) -> OfContestant:
    mine = (votes.a == k) | (votes.b == k)
    is_a = votes.a[mine] == k
    won, said = (votes.outcome[mine] == Outcome.A) == is_a, (apart[mine] > 0) == is_a
    prompt, ones = votes.prompt[mine], np.ones(int(mine.sum()))
    of_said, of_won, over = (
        estimate(np.stack([column, ones], axis=1), prompt, share, NOTHING)
        for column in (said.astype(np.float64), won.astype(np.float64), said.astype(np.float64) - won)
    )
    return OfContestant(k, _alike(votes, hit, mine), of_said, of_won, over)
