"""How far the detectors reach: with few responses or at a late evaluation some cannot fire, whatever the responses."""

from __future__ import annotations

import math

from workers.analysis.detectors.budget import ERROR
from workers.analysis.detectors.thresholds import DETECTORS, NATS, PART, SHARE, Detector, Thresholds
from workers.analysis.exact_tests import tail

MAX_NUMBER = 9999
"""The last evaluation of which it is stated that a detector can fire."""
AMONG_OTHERS = ("collapse", "template")
"""Detectors that count responses to other prompts: at least one response less."""


def can_fire(n: int, m: int, number: int, thresholds: Thresholds | None = None) -> list[Detector]:
    """Return the detectors that can fire at the number-th evaluation, at best, in the order of DETECTORS: with n
    responses of which all are as bad as can be, and m before training, 0 without a base, of which none is."""
    changed = thresholds or {}
    on = [(d, changed.get(d.name, d.threshold)) for d in DETECTORS]
    return [d for d, limit in on if limit is not None and number <= last_number(d, n, m, limit)]


def last_number(detector: Detector, n: int, m: int, threshold: float | None = None) -> int:
    """Return the number of the last evaluation at which a detector can fire, at best; 0 if at none, and at most
    MAX_NUMBER. Of the KL only the ceiling counts: beside other runs every KL may be large enough."""
    p = _smallest_p_value(detector, n, m, detector.threshold if threshold is None else threshold)
    if p <= 0:
        return MAX_NUMBER
    # The t-th evaluation has to have p (t (t + 1)) up to this part of the error.
    return min(MAX_NUMBER, math.floor((math.sqrt(1 + 4 * ERROR * detector.weight / p) - 1) / 2))


def _smallest_p_value(detector: Detector, n: int, m: int, threshold: float) -> float:
    less = 1 if detector.name in AMONG_OTHERS else 0
    n, m = n - less, m - less
    if n < 1:
        return 1.0
    if detector.unit == NATS:
        return tail(n, n, 0.5)
    if m < 1:
        alone = detector.limit_alone(threshold)
        return 1.0 if alone is None else tail(n, n, alone)
    if detector.unit == SHARE:
        return smallest_rise_p_value(n, m, threshold)
    return smallest_fall_p_value(n, m, threshold) if detector.unit == PART else tail(n, n, 0.5)


def smallest_rise_p_value(n: int, m: int, margin: float) -> float:
    """Return the p-value of `rise_p_value` for n of n and 0 of m, the smallest of all tables."""
    if margin >= 1:
        return 1.0
    rate = min(max((n - m * margin) / (n + m), 0.0), 1 - margin)
    return math.exp(n * _log(rate + margin) + m * _log(1 - rate))


def smallest_fall_p_value(n: int, m: int, part: float) -> float:
    """Return the p-value of `fall_p_value` for 0 of n and m of m, the smallest of all tables."""
    kept = 1 - part
    rate = 1.0 if kept == 0 else min(1.0, m / (kept * (n + m)))
    return math.exp(n * _log(1 - kept * rate) + m * _log(rate))


def _log(rate: float) -> float:
    return math.log(rate) if rate > 0 else -math.inf
