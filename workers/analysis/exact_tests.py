"""Exact one-sided tests of shares, with numpy alone: a share against a limit, its rise and its fall since before.

Responses are independent draws, but their rates differ by prompt. The tail of one such count is at most the binomial
tail with the mean rate, from one above its mean on (Hoeffding, Annals of Mathematical Statistics 27:713, 1956). The
tests of two counts treat both as binomial; unequal rates only narrow their distribution.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.int64]

COARSE_POINTS, FINE_POINTS, FINE_ROUNDS = 64, 33, 2
"""Rates at which the largest p-value is sought: at least so many from 0 to 1, then so many around the best, twice."""
POINTS_PER_ROOT = 8
"""Further rates per square root of the number of responses: the curve over the rate is as narrow as that."""
PRECISION = 2.5e-4
"""Width to which the ends of an interval are halved; they are the outer ones."""
SLACK, TINY_VARIANCE = 1e-9, 1e-15
"""Difference of two statistics, and variance, that are rounding alone."""


def tail(count: int, n: int, rate: float) -> float:
    """Return the probability of `count` or more of n draws whose mean rate is `rate`, at most."""
    if count <= 0:
        return 1.0
    binomial = float(_tails(n, np.array([rate]))[0, count])
    # Below one above the mean Hoeffding's bound does not hold; Markov's does.
    return binomial if count >= n * rate + 1 else min(1.0, max(binomial, n * rate / count))


@lru_cache(maxsize=65536)
def rise_p_value(count: int, n: int, before: int, m: int, margin: float = 0.0) -> float:
    """Return the p-value of "the share is at most `margin` above the share before", for `count` of n and `before` of m.

    The exact unconditional test: the largest probability, over all rates, of a table at least as extreme by the score
    statistic (Chan, Statistics in Medicine 17:1403, 1998). With margin 0 it is Barnard's test of the pooled statistic.
    It is 1 where the share is not beyond the margin. Raise ValueError for an empty sample or an impossible count.
    """
    _check(count, n, before, m)
    if margin >= 1 or (margin > -1 and count / n <= before / m + margin):
        return 1.0
    if margin <= -1:
        return 1.0 if margin == -1 and count == 0 and before == m else 0.0
    return _largest_probability(count, before, Rise(n, m, margin))


@lru_cache(maxsize=65536)
def fall_p_value(count: int, n: int, before: int, m: int, part: float = 0.0) -> float:
    """Return the p-value of "the share fell by at most this part of it": it is at least 1 - `part` times the share
    before. The same test as `rise_p_value`, with the score statistic of a ratio. Part is from 0 to 1."""
    _check(count, n, before, m)
    if part >= 1 or count / n >= (1 - part) * before / m:
        return 1.0
    return _largest_probability(n - count, m - before, Fall(n, m, 1 - part))


@lru_cache(maxsize=4096)
def rise_interval(count: int, n: int, before: int, m: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of the rise of a share, which holds the margins that neither one-sided test refuses (Chan and
    Zhang, Biometrics 55:1202, 1999)."""
    error = (1 - confidence) / 2
    return _lower(count, n, before, m, error), -_lower(before, m, count, n, error)


def _lower(count: int, n: int, before: int, m: int, error: float) -> float:
    """Return the largest margin that is refused, by halving around the limit of the score statistic alone, which is off
    by a response or two."""
    width = 2 / min(n, m)
    high = _score_limit(count, n, before, m, error)
    low = max(-1.0, high - width)
    while low > -1 and rise_p_value(count, n, before, m, low) > error:
        low, high, width = max(-1.0, low - width), low, 2 * width
    observed = count / n - before / m
    while high < observed and rise_p_value(count, n, before, m, high) <= error:
        low, high = high, min(observed, high + width)
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if rise_p_value(count, n, before, m, middle) <= error else (low, middle)
    return low


def _score_limit(count: int, n: int, before: int, m: int, error: float) -> float:
    """Return the margin at which the score statistic is as large as a normal deviate of this upper error."""
    low, high = -1.0, count / n - before / m
    limit = -NormalDist().inv_cdf(error)
    while high - low > PRECISION:
        middle = (low + high) / 2
        is_beyond = Rise(n, m, middle).score(np.array([count]), np.array([before]))[0] > limit
        low, high = (middle, high) if is_beyond else (low, middle)
    return low


def _check(count: int, n: int, before: int, m: int) -> None:
    if not (0 <= count <= n and 0 <= before <= m and n and m):
        raise ValueError(f"needs counts of samples, not {count} of {n} and {before} of {m}")


@dataclass(frozen=True)
class Boundary(ABC):
    """The worst case of a hypothesis about the rates of n draws now and m before: one rate follows from the other."""

    n: int
    m: int

    @abstractmethod
    def rates(self) -> tuple[float, float]:
        """Return the lowest and the highest rate before."""

    @abstractmethod
    def now(self, rates: Floats) -> Floats:
        """Return the rates now that belong to these before."""

    @abstractmethod
    def score(self, counts: Whole, befores: Whole) -> Floats:
        """Return how far tables are beyond the boundary, in standard errors at the likeliest rates on it."""


@dataclass(frozen=True)
class Rise(Boundary):
    """The rate now is the one before plus a margin."""

    margin: float

    def rates(self) -> tuple[float, float]:
        return max(0.0, -self.margin), min(1.0, 1.0 - self.margin)

    def now(self, rates: Floats) -> Floats:
        return np.clip(rates + self.margin, 0.0, 1.0)

    def score(self, counts: Whole, befores: Whole) -> Floats:
        now, before = counts / self.n, befores / self.m
        rate = self._likeliest(now, before)
        other = np.clip(rate - self.margin, 0.0, 1.0)
        return _ratio(now - before - self.margin, rate * (1 - rate) / self.n + other * (1 - other) / self.m)

    def _likeliest(self, now: Floats, before: Floats) -> Floats:
        """Return the likeliest rates now: roots of a cubic (Farrington and Manning, Statistics in Medicine 9:1447,
        1990, appendix)."""
        ratio, margin = self.m / self.n, self.margin
        a = 1 + ratio
        b = -(1 + ratio + now + ratio * before + margin * (ratio + 2))
        c = margin**2 + margin * (2 * now + ratio + 1) + now + ratio * before
        d = -now * margin * (1 + margin)
        v = (b / (3 * a)) ** 3 - b * c / (6 * a**2) + d / (2 * a)
        root = np.sqrt(np.maximum((b / (3 * a)) ** 2 - c / (3 * a), 0.0))
        u = np.where(v < 0, -root, root)
        cosine = np.where(root > 1e-12, v / np.where(root > 1e-12, u, 1.0) ** 3, 0.0)
        w = (math.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3
        likeliest: Floats = np.clip(2 * u * np.cos(w) - b / (3 * a), max(0.0, margin), min(1.0, 1.0 + margin))
        return likeliest


@dataclass(frozen=True)
class Fall(Boundary):
    """The rate of what is missing, such as wrong responses, if what remains is `kept` times what there was."""

    kept: float

    def rates(self) -> tuple[float, float]:
        return 0.0, 1.0

    def now(self, rates: Floats) -> Floats:
        return 1 - self.kept * (1 - rates)

    def score(self, counts: Whole, befores: Whole) -> Floats:
        present, present_before = self.n - counts, self.m - befores
        # The likeliest rate before is a root of a square (Farrington and Manning 1990, appendix).
        a = self.kept * (self.n + self.m)
        b = -(self.kept * self.n + present + self.m + self.kept * present_before)
        root = np.sqrt(np.maximum(b * b - 4 * a * (present + present_before), 0.0))
        before = np.clip((-b - root) / (2 * a), 0.0, 1.0)
        now = self.kept * before
        variance = now * (1 - now) / self.n + self.kept**2 * before * (1 - before) / self.m
        return _ratio(self.kept * present_before / self.m - present / self.n, variance)


def _ratio(difference: Floats, variance: Floats) -> Floats:
    certain = np.select([difference > SLACK, difference < -SLACK], [np.inf, -np.inf], 0.0)
    usual = difference / np.sqrt(np.maximum(variance, TINY_VARIANCE))
    return np.where(variance > TINY_VARIANCE, usual, certain)


def _largest_probability(count: int, before: int, boundary: Boundary) -> float:
    """Return the largest probability, over the boundary, of a table that is as extreme as this."""
    counts = _least_extreme(count, before, boundary)
    points = COARSE_POINTS + int(POINTS_PER_ROOT * math.sqrt(max(boundary.n, boundary.m)))
    low, high = boundary.rates()
    # Equal steps of the arcsine of the root are equal steps of the standard error.
    angles = np.linspace(math.asin(math.sqrt(low)), math.asin(math.sqrt(high)), points)
    largest = 0.0
    for _ in range(FINE_ROUNDS + 1):
        rates = np.clip(np.sin(angles) ** 2, low, high)
        tails = _tails(boundary.n, boundary.now(rates))
        values = np.einsum("gy,gy->g", _masses(boundary.m, rates), tails[:, counts])
        best = int(values.argmax())
        largest = max(largest, float(values[best]))
        angles = np.linspace(angles[max(best - 1, 0)], angles[min(best + 1, len(angles) - 1)], FINE_POINTS)
    return min(1.0, largest)


def _least_extreme(count: int, before: int, boundary: Boundary) -> Whole:
    """Return int64[m + 1]: for each count before, the least count now that is as extreme as the table; n + 1 if none.

    The region is closed: with a table it holds those with more now or fewer before. That can only raise the p-value,
    and makes the boundary of the hypothesis its worst case (Röhmel and Mansmann, Biometrical Journal 41:149, 1999).
    """
    n, m = boundary.n, boundary.m
    limit = boundary.score(np.array([count]), np.array([before]))[0] - SLACK
    befores = np.arange(m + 1)
    low, high = np.zeros(m + 1, np.int64), np.full(m + 1, n + 1)
    while (low < high).any():
        middle = (low + high) // 2
        is_extreme = (boundary.score(np.minimum(middle, n), befores) >= limit) | (middle > n)
        low, high = np.where(is_extreme, low, np.minimum(middle + 1, high)), np.where(is_extreme, middle, high)
    closed = np.minimum.accumulate(low[::-1])[::-1]
    closed[: before + 1] = np.minimum(closed[: before + 1], count)
    return closed


def _masses(n: int, rates: Floats) -> Floats:
    """Return float64[rates, n + 1], the binomial probabilities."""
    k = np.arange(n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rate, log_rest = np.log(rates)[:, None], np.log1p(-rates)[:, None]
        # 0 times the logarithm of 0 is 0 here: such a rate takes one count alone.
        logs = np.where(k == 0, 0.0, k * log_rate) + np.where(k == n, 0.0, (n - k) * log_rest)
    masses: Floats = np.exp(_log_choose(n) + logs)
    return masses


def _tails(n: int, rates: Floats) -> Floats:
    """Return float64[rates, n + 2]: the probability of k or more, from 0 to n + 1."""
    summed = np.cumsum(_masses(n, rates)[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([np.minimum(summed, 1.0), np.zeros((len(rates), 1))], axis=1)


@lru_cache(maxsize=256)
def _log_choose(n: int) -> Floats:
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    choose: Floats = logs[n] - logs - logs[::-1]
    return choose
