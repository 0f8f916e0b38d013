"""Compare votes with a scorer's scores: does the scorer rate higher the responses that judges prefer?

If a run was trained on the scorer, a contestant whose wins the scorer over-predicts has learnt the scorer and not the
task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.votes import Floats, Outcome, Votes
from workers.analysis.resampling import Estimate, estimate_statistic, share_statistic

NO_SCORED_VOTE = "n/a: no decided vote is on two answers that it scored unequally"


@dataclass(frozen=True)
class ScorerAgreement:
    """Agreement of votes with a scorer.

    votes: the number of decided votes on responses with unequal scores. alike: the share of them in which the scorer
    prefers the winner.
    """

    votes: int
    alike: Estimate


@dataclass(frozen=True)
class ContestantAgreement:
    """Agreement of one contestant's votes with a scorer.

    said: the share that the contestant should have won by its scores; won: the share that it did win; over: `said`
    minus `won`, with an interval wholly above 0 if the scorer overrates the contestant.
    """

    contestant: int
    all: ScorerAgreement
    said: Estimate
    won: Estimate
    over: Estimate


@dataclass(frozen=True)
class ScorerComparison:
    """Comparison of votes with one scorer.

    categories: all contestants' votes by category; categories overlap, and an empty name stands for prompts without a
    category. cells: by contestant's number and category's name. unscored: the number of decided votes without a
    preference of the scorer, because a score is missing or both are equal.
    """

    all: ScorerAgreement
    contestants: tuple[ContestantAgreement, ...]
    categories: dict[str, ScorerAgreement]
    cells: dict[tuple[int, str], ScorerAgreement]
    unscored: int


def score_differences(votes: Votes, scores: Floats) -> Floats:
    """Return the score of each vote's a minus that of its b, NaN if a score is missing. float64[n].

    scores: float64[prompts, contestants], NaN if there is none, the higher the better.
    """
    return np.asarray(scores[votes.prompt, votes.a] - scores[votes.prompt, votes.b])


def compare_with_scorer(votes: Votes, scores: Floats) -> ScorerComparison:
    """Compare the decided votes with scores: float64[prompts, contestants], the higher the better.

    Intervals resample prompts with all their votes.
    """
    decided = votes.select(votes.outcome <= Outcome.B)
    difference = score_differences(decided, scores)
    has_preference = np.isfinite(difference) & (difference != 0)
    used, difference = decided.select(has_preference), difference[has_preference]
    hit = ((used.outcome == Outcome.A) == (difference > 0)).astype(np.float64)
    is_own = [(used.a == k) | (used.b == k) for k in range(len(votes.contestants))]
    by_category = used.categories
    return ScorerComparison(
        _scorer_agreement(used, hit, np.ones(len(used), np.bool_)),
        tuple(_contestant_agreement(used, hit, difference, k) for k in range(len(is_own))),
        {name: _scorer_agreement(used, hit, mask) for name, mask in by_category.items()},
        {
            (k, name): _scorer_agreement(used, hit, own_mask & mask)
            for k, own_mask in enumerate(is_own)
            for name, mask in by_category.items()
        },
        len(decided) - len(used),
    )


def _scorer_agreement(votes: Votes, hit: Floats, mask: np.ndarray) -> ScorerAgreement:
    tables = np.stack([hit, np.ones(len(hit))], axis=1)[mask]
    return ScorerAgreement(len(tables), estimate_statistic(tables, votes.prompt[mask], share_statistic, NO_SCORED_VOTE))


def _contestant_agreement(votes: Votes, hit: Floats, difference: Floats, k: int) -> ContestantAgreement:
    own_votes = (votes.a == k) | (votes.b == k)
    is_a = votes.a[own_votes] == k
    won, scorer_won = (votes.outcome[own_votes] == Outcome.A) == is_a, (difference[own_votes] > 0) == is_a
    prompt, ones = votes.prompt[own_votes], np.ones(int(own_votes.sum()))
    expected_share, won_share, over = (
        estimate_statistic(np.stack([column, ones], axis=1), prompt, share_statistic, NO_SCORED_VOTE)
        for column in (scorer_won.astype(np.float64), won.astype(np.float64), scorer_won.astype(np.float64) - won)
    )
    return ContestantAgreement(k, _scorer_agreement(votes, hit, own_votes), expected_share, won_share, over)
