"""Which two should be judged next, so that few votes tell most; and with which chance each was chosen.

A rule that always takes the pair on which one more vote tells most (`telling`) never finds out where it is wrong. So
every pair is judged a few times first, and one choice in ten is left to chance. Chances are known for every choice:
whoever weighs votes by them gets estimates that the choosing does not bend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.counts import Counts
from judging.stats.ratings.information_gain import covariance_of, gains, less
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Bools, Floats, Ints

PRIOR = 0.5
"""Wins each way to pairs that met, for choosing alone: early on somebody is always unbeaten."""


@dataclass(frozen=True)
class Rule:
    """least: as many votes has every pair before any is preferred. explore: the share of later choices that is left to
    chance."""

    least: int = 3
    explore: float = 0.1


@dataclass(frozen=True)
class Choice:
    """Two contestants, one < other, and the chance that just they were chosen."""

    one: int
    other: int
    chance: float


@dataclass
class _Known:
    """What is known by one criterion: strengths, float64[n], and their covariance, float64[n, n]."""

    theta: Floats
    covariance: Floats


def next_pairs(
    known: Sequence[Counts], held: Ints, free: Ints, count: int, rng: np.random.Generator, rule: Rule = Rule()
) -> list[Choice]:
    """The next `count` choices, or fewer where fewer are free.

    known: votes by each criterion. held: int64[n, n], symmetric, how often each pair was judged or handed out. free:
    int64[n, n], symmetric, how often it may be yet. What is handed out and not judged counts for what it will tell.
    """
    held, free = held.copy(), free.copy()
    models = [model for counts in known if (model := _known(counts, held)) is not None]
    chosen = []
    for _ in range(min(count, int(free.sum()) // 2)):
        choice = _choose(models, held, free, rng, rule)
        for one, other in ((choice.one, choice.other), (choice.other, choice.one)):
            held[one, other] += 1
            free[one, other] -= 1
        for own in models:
            own.covariance = less(own.covariance, own.theta, choice.one, choice.other)
        chosen.append(choice)
    return chosen


def _known(counts: Counts, held: Ints) -> _Known | None:
    """None where not all are joined by votes: then nothing tells which vote tells most."""
    found = fit(counts, prior=PRIOR)
    if found.failed:
        return None
    own = Counts(counts.wins + PRIOR * (counts.games > 0), counts.ties)
    covariance = covariance_of(own, found)
    for one, other in np.argwhere(np.triu(held - counts.games > 0)):
        for _ in range(int(held[one, other] - counts.games[one, other])):
            covariance = less(covariance, found.theta, int(one), int(other))
    return _Known(found.theta, covariance)


def _choose(models: Sequence[_Known], held: Ints, free: Ints, rng: np.random.Generator, rule: Rule) -> Choice:
    open_: Bools = np.triu(free > 0, 1)
    short = open_ & (held < rule.least)
    if short.any():
        return _at_random(short & (held == held[short].min()), rng)
    if not models:
        return _at_random(open_, rng)
    worth = np.where(open_, sum(gains(model.covariance, model.theta) for model in models), -np.inf)
    best = int(worth.argmax())
    by_chance = _at_random(open_, rng)
    one, other = (by_chance.one, by_chance.other) if rng.random() < rule.explore else divmod(best, len(open_))
    is_best = one * len(open_) + other == best
    return Choice(int(one), int(other), rule.explore * by_chance.chance + (1 - rule.explore) * is_best)


def _at_random(among: Bools, rng: np.random.Generator) -> Choice:
    pairs = np.argwhere(among)
    one, other = pairs[rng.integers(len(pairs))]
    return Choice(int(one), int(other), 1 / len(pairs))
