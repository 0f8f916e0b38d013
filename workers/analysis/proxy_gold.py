"""Reward (the proxy) and gold measure of evaluations with 95 % intervals over prompts, and their change since the base.

The prompts are the independent units: responses to one prompt are averaged first, and a change is paired by prompt.

mean reward          mean ± t · s / √n over the n prompts (Student).
share (gold)         Wilson's interval for the effective number of prompts (`pass_at_k.estimate`).
change of a reward   mean ± t · s / √n over the differences of the n prompts.
change of a share    the same over these differences and those of two more prompts: one half gains, one half loses, one
                     stays. It is the interval of Agresti and Min ("Simple improved confidence intervals for comparing
                     matched proportions", Statistics in Medicine 24, 2005) with means of a prompt's responses in place
                     of single ones. Without the two, eight prompts that all change would give an interval of width 0.

A reward that is 0 or 1 in all responses is a share. `make soak PART=coverage` simulates how often each interval holds
the true value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workers.analysis.pass_at_k import estimate
from workers.analysis.student_t import mean_interval, t_quantile

PSEUDO_PROMPTS = 2
"""Prompts that are added to the differences of a share."""
PSEUDO_SQUARES = 1.0
"""Sum of their squared differences: one half of +1 and one half of −1."""
MIN_PROMPTS = 2
"""Fewest prompts of which an interval can be computed."""

Direction = Literal["rose", "fell", "unclear"]


@dataclass(frozen=True, eq=False)
class Measured:
    """One measure of an evaluation: for each prompt the sum over its responses, and their number.

    prompts: int64[p], ascending, each once. sums: float64[p]. counts: int64[p], at least 1. is_share: every response
    has 0 or 1.
    """

    prompts: NDArray[np.int64]
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    is_share: bool

    @property
    def means(self) -> NDArray[np.float64]:
        """Return float64[p], the mean of each prompt's responses."""
        return self.sums / self.counts

    @property
    def responses(self) -> int:
        """Return the number of responses."""
        return int(self.counts.sum())

    def select(self, prompts: NDArray[np.int64]) -> Measured:
        """Return the measure of these prompts alone, as far as it has them."""
        is_selected = np.isin(self.prompts, prompts)
        return Measured(self.prompts[is_selected], self.sums[is_selected], self.counts[is_selected], self.is_share)


@dataclass(frozen=True)
class Level:
    """A mean over prompts with its 95 % interval; None at both ends if there are too few prompts for one."""

    mean: float
    low: float | None
    high: float | None
    prompts: int
    responses: int


@dataclass(frozen=True)
class Change:
    """Mean difference of the prompts that two evaluations share, with its 95 % interval.

    low and high are None if the prompts are too few, or if all rewards changed by the same amount: then the data do not
    show how uncertain the mean is. responses: those of the later evaluation.
    """

    mean: float
    low: float | None
    high: float | None
    prompts: int
    responses: int

    @property
    def direction(self) -> Direction:
        """Return the direction of the change; unclear if its interval contains 0, or if there is none."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return "unclear"
        return "rose" if self.low > 0 else "fell"


@dataclass(frozen=True)
class Movement:
    """Changes of the reward and of the gold measure between the same two evaluations."""

    reward: Change
    gold: Change

    @property
    def is_hacking(self) -> bool:
        """Return whether the reward rose while the gold measure fell: reward hacking."""
        return self.reward.direction == "rose" and self.gold.direction == "fell"


def pool(parts: list[Measured]) -> Measured:
    """Return the measure of all responses of several sets, such as the greedy and the sampled ones."""
    prompts, places = np.unique(np.concatenate([part.prompts for part in parts]), return_inverse=True)
    sums = np.bincount(places, np.concatenate([part.sums for part in parts]), len(prompts))
    counts = np.bincount(places, np.concatenate([part.counts for part in parts]), len(prompts))
    is_share = all(part.is_share for part in parts)
    return Measured(prompts, sums.astype(np.float64), counts.astype(np.int64), is_share)


def level(measured: Measured) -> Level | None:
    """Return the mean over prompts with its interval; None without prompts."""
    means, n = measured.means, len(measured.prompts)
    if not n:
        return None
    if measured.is_share:
        share = estimate(means.tolist(), round(measured.responses / n))
        low, high = (share.low, share.high) if n >= MIN_PROMPTS else (None, None)
        return Level(share.mean, low, high, n, measured.responses)
    low, high = _t_interval(means)
    return Level(float(means.mean()), low, high, n, measured.responses)


def change(base: Measured, now: Measured) -> Change | None:
    """Return the change from `base` to `now`, paired by prompt; None if no prompt is in both."""
    _, at_base, at_now = np.intersect1d(base.prompts, now.prompts, assume_unique=True, return_indices=True)
    if not len(at_base):
        return None
    differences = now.means[at_now] - base.means[at_base]
    low, high = (_share_interval if base.is_share and now.is_share else _t_interval)(differences)
    return Change(float(differences.mean()), low, high, len(differences), int(now.counts[at_now].sum()))


def movement(reward: tuple[Measured, Measured], gold: tuple[Measured, Measured]) -> Movement | None:
    """Return the changes of both measures, each given at the base and now, over the prompts that have both at both.

    None if there is no such prompt. A prompt without a gold measure says nothing about what its reward stands for.
    """
    prompts = np.intersect1d(gold[0].prompts, gold[1].prompts, assume_unique=True)
    reward_change = change(*(measured.select(prompts) for measured in reward))
    gold_change = change(*(measured.select(reward[0].prompts).select(reward[1].prompts) for measured in gold))
    return Movement(reward_change, gold_change) if reward_change and gold_change else None


def _t_interval(values: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Return the interval of the mean; (None, None) for fewer than two values, or values that are all equal."""
    if len(values) < MIN_PROMPTS or not np.ptp(values) > 0:
        return None, None
    return mean_interval(values.tolist())


def _share_interval(differences: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Return the interval of the mean of differences of shares, each between −1 and 1."""
    n, mean = len(differences), float(differences.mean())
    if n < MIN_PROMPTS:
        return None, None
    size = n + PSEUDO_PROMPTS
    centre = float(differences.sum()) / size
    variance = (float((differences**2).sum()) + PSEUDO_SQUARES) / size - centre**2
    half = t_quantile(n - 1) * math.sqrt(variance / size)
    # The estimate itself stays inside, also where the added prompts pull the centre towards 0.
    return max(-1.0, min(mean, centre - half)), min(1.0, max(mean, centre + half))
