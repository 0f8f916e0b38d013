"""Draw counts of responses that show a trait, over prompts with unequal rates that may walk at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Counts: TypeAlias = NDArray[np.int64]
Shares: TypeAlias = NDArray[np.float64]

MAX_ODDS, HALVINGS = 30.0, 40


@dataclass(frozen=True)
class Rates:
    """The mean rate of one detector's trait before training, and at every evaluation after it."""

    before: float
    after: float


@dataclass(frozen=True)
class Variation:
    """How rates vary. effect: standard deviation of the log odds of prompts; if None, the rate of a prompt is the mean
    times a factor from 0 to 2. step: standard deviation of what is added to the log odds of each prompt from one
    evaluation to the next."""

    effect: float | None = None
    step: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """Counts before training, int64[runs], and after it, int64[runs, evaluations], with the mean rates of the run's
    prompts from which they were drawn."""

    before: Counts
    now: Counts
    rates_before: Shares
    rates_now: Shares


EVEN = Variation()


def drawn_counts(
    rng: np.random.Generator, layout: tuple[int, int], rates: Rates, shape: tuple[int, int], variation: Variation = EVEN
) -> Drawn:
    """Draw counts of responses to (prompts, responses to each), of (runs, evaluations)."""
    (prompts, each), (runs, evaluations) = layout, shape
    if variation.effect is None:
        factors = rng.uniform(0.0, 2.0, (runs, prompts))
        before, after = (_spread(mean, factors) for mean in (rates.before, rates.after))
    else:
        effects = rng.normal(0.0, variation.effect, (runs, prompts))
        before, after = (_with_effects(mean, effects) for mean in (rates.before, rates.after))
    later = np.repeat(after[:, None, :], evaluations, axis=1)
    if variation.step:
        later = _walked(rng, later, variation.step)
    counts_before, counts = rng.binomial(each, before).sum(axis=1), rng.binomial(each, later).sum(axis=2)
    return Drawn(counts_before, counts, before.mean(axis=1), later.mean(axis=2))


def _spread(mean: float, factors: Shares) -> Shares:
    """Return rates of prompts with exactly this mean, in each run."""
    # Above a half the complement varies, so that no rate is beyond 1.
    rest = min(mean, 1 - mean)
    varied = rest * factors / factors.mean(axis=1, keepdims=True)
    rates: Shares = np.clip(varied if mean <= 0.5 else 1 - varied, 0.0, 1.0)
    return rates


def _with_effects(mean: float, effects: Shares) -> Shares:
    """Return rates with these effects on their log odds and exactly this mean, in each run."""
    low, high = np.full((len(effects), 1), -MAX_ODDS), np.full((len(effects), 1), MAX_ODDS)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_low = _logistic(middle + effects).mean(axis=1, keepdims=True) < mean
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return _logistic((low + high) / 2 + effects)


def _logistic(odds: Shares) -> Shares:
    rates: Shares = 1 / (1 + np.exp(-odds))
    return rates


def _walked(rng: np.random.Generator, rates: Shares, step: float) -> Shares:
    """Return float64[runs, evaluations, prompts]: rates whose log odds have walked at random, with mean 0."""
    return _logistic(np.log(rates / (1 - rates)) + rng.normal(0.0, step, rates.shape).cumsum(axis=1))
