"""Quantiles of the distributions that values of the geometry have by chance, and intervals from random draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

import torch

from workers.analysis.student_t import prediction_interval
from workers.records import ProbeValue

HALVINGS = 100


@dataclass(frozen=True)
class Null:
    """A value that is expected by chance, and the band that contains 95 % of such values; None if there is none."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def add_to(self, value: ProbeValue) -> ProbeValue:
        """Return a probe's value with this null."""
        return replace(value, null=self.value, null_low=self.low, null_high=self.high)

    def divided_by(self, divisor: float) -> Null:
        """Return the null of a value that is divided by a positive number."""
        return Null(*(None if x is None else x / divisor for x in (self.value, self.low, self.high)))


def null_of_draws(draws: Sequence[float]) -> Null:
    """Return the mean of at least two draws and the 95 % interval of one more."""
    return Null(fmean(draws), *prediction_interval(draws))


def gamma_band(mean: float, variance: float) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of the gamma distribution with this mean and variance.

    With variance = 2 mean² / n it is mean/n times χ² with n degrees of freedom, exactly the square of a norm of n
    independent normal numbers. Sums of squares with other moments are approximated (Satterthwaite 1946).
    """
    if mean == 0 or variance == 0:
        return mean, mean
    shape = mean * mean / variance
    return _gamma_quantile(0.025, shape) * variance / mean, _gamma_quantile(0.975, shape) * variance / mean


@cache
def _gamma_quantile(probability: float, shape: float) -> float:
    """Return a quantile of the gamma distribution of scale 1, by halving an interval that contains it."""
    low, high = 0.0, shape + 20 * math.sqrt(shape) + 20
    argument = torch.tensor(shape, dtype=torch.float64)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = float(torch.special.gammainc(argument, torch.tensor(middle, dtype=torch.float64))) < probability
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2
