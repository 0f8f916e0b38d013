"""Select the pairs to judge next, so that few votes give much information, with the probability of each choice.

A rule that always takes the pair with the largest information gain (`information_gains`) never finds out where it is
wrong. So every pair is judged a few times first, and one choice in ten is random. The probability of every choice is
known: estimates that weigh votes by it are not biased by the selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.counts import Counts
from judging.stats.ratings.information_gain import covariance_after_vote, gains_by_covariance, strength_covariance
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Bools, Floats, Ints

PRIOR = 0.5
"""Wins added each way to pairs that met, only for selection: early on, some contestant is always unbeaten."""


@dataclass(frozen=True)
class Rule:
    """Rule of selection.

    least: the number of votes that every pair gets before any is preferred. explore: the share of later choices that is
    random.
    """

    least: int = 3
    explore: float = 0.1


@dataclass(frozen=True)
class Choice:
    """Two contestants, first < second, and the probability that exactly this pair was chosen."""

    first: int
    second: int
    chance: float


@dataclass
class _StrengthModel:
    """Estimates by one criterion: strengths, float64[n], and their covariance, float64[n, n]."""

    theta: Floats
    covariance: Floats


def select_next_pairs(
    criterion_counts: Sequence[Counts],
    handed_out: Ints,
    free: Ints,
    count: int,
    rng: np.random.Generator,
    rule: Rule = Rule(),
) -> list[Choice]:
    """Return the next `count` choices, or fewer if fewer are free.

    criterion_counts: votes by each criterion. handed_out: int64[n, n], symmetric, how often each pair was judged or
    handed out. free: int64[n, n], symmetric, how often it may still be. A pair that is handed out but not judged counts
    with the information that its vote will give.
    """
    handed_out, free = handed_out.copy(), free.copy()
    models = [model for counts in criterion_counts if (model := _strength_model(counts, handed_out)) is not None]
    choices = []
    for _ in range(min(count, int(free.sum()) // 2)):
        choice = _choose(models, handed_out, free, rng, rule)
        for first, second in ((choice.first, choice.second), (choice.second, choice.first)):
            handed_out[first, second] += 1
            free[first, second] -= 1
        for own in models:
            own.covariance = covariance_after_vote(own.covariance, own.theta, choice.first, choice.second)
        choices.append(choice)
    return choices


def _strength_model(counts: Counts, handed_out: Ints) -> _StrengthModel | None:
    """Estimate strengths by one criterion. Return None if votes do not connect all contestants; no gain exists then."""
    fitted = fit(counts, prior=PRIOR)
    if fitted.failed:
        return None
    own = Counts(counts.wins + PRIOR * (counts.games > 0), counts.ties)
    covariance = strength_covariance(own, fitted)
    for first, second in np.argwhere(np.triu(handed_out - counts.games > 0)):
        for _ in range(int(handed_out[first, second] - counts.games[first, second])):
            covariance = covariance_after_vote(covariance, fitted.theta, int(first), int(second))
    return _StrengthModel(fitted.theta, covariance)


def _choose(
    models: Sequence[_StrengthModel], handed_out: Ints, free: Ints, rng: np.random.Generator, rule: Rule
) -> Choice:
    open_: Bools = np.triu(free > 0, 1)
    short = open_ & (handed_out < rule.least)
    if short.any():
        return _at_random(short & (handed_out == handed_out[short].min()), rng)
    if not models:
        return _at_random(open_, rng)
    worth = np.where(open_, sum(gains_by_covariance(model.covariance, model.theta) for model in models), -np.inf)
    best = int(worth.argmax())
    by_chance = _at_random(open_, rng)
    first, second = (by_chance.first, by_chance.second) if rng.random() < rule.explore else divmod(best, len(open_))
    is_best = first * len(open_) + second == best
    return Choice(int(first), int(second), rule.explore * by_chance.chance + (1 - rule.explore) * is_best)


def _at_random(among: Bools, rng: np.random.Generator) -> Choice:
    pairs = np.argwhere(among)
    first, second = pairs[rng.integers(len(pairs))]
    return Choice(int(first), int(second), 1 / len(pairs))
