"""How well a score separates two groups: area under the ROC curve with its interval, and a limit for false alarms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

HALVINGS = 60


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the probability that a positive has a higher score than a negative, ties counted half: the area under the
    ROC curve (Hanley and McNeil, Radiology 143:29, 1982). Raise ValueError if a group is empty."""
    if not positive or not negative:
        raise ValueError(f"needs both groups, not {len(positive)} positives and {len(negative)} negatives")
    wins = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    return wins / (len(positive) * len(negative))


def auc_interval(value: float, positives: int, negatives: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the limits of an area under the ROC curve: method 5 of Newcombe, Statistics in Medicine 25:559 (2006).

    It inverts the score test with the variance of Hanley and McNeil, so it has a width at an area of 0 and 1 too, where
    DeLong's method and the bootstrap have none. Raise ValueError for an empty group or an area outside [0, 1].
    """
    if not 0 <= value <= 1 or positives < 1 or negatives < 1:
        raise ValueError(f"needs 0 ≤ area ≤ 1 and both groups, not {value} of {positives} and {negatives}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def is_beyond(area: float) -> bool:
        return abs(value - area) > z * math.sqrt(_variance(area, positives, negatives))

    return _last_inside(value, 0.0, is_beyond), _last_inside(value, 1.0, is_beyond)


def _variance(area: float, positives: int, negatives: int) -> float:
    """Return the variance of an estimated area, with the mean size of the groups in place of either."""
    size = (positives + negatives) / 2 - 1
    spread = 1 + size * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (positives * negatives)


def _last_inside(inside: float, end: float, is_beyond: Callable[[float], bool]) -> float:
    """Return where the way from `inside` to `end` leaves the interval; `end` if it does not."""
    # At the end the variance is 0, so the test is made just before it.
    outside = end
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if is_beyond(middle) else (middle, outside)
    return outside


def limit_of_false_alarms(negative: Sequence[float], share: float = 0.05) -> float | None:
    """Return the smallest limit that at most this share of the negatives exceeds; None if they are too few to state
    one: fewer than 1 / share, of which none could exceed it."""
    if share <= 0 or len(negative) < 1 / share:
        return None
    allowed = math.floor(share * len(negative) + 1e-9)
    return sorted(negative, reverse=True)[allowed]
