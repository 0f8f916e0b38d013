"""Detectors of a reward that rises while what it stands for falls: right answers, safe responses, held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import pstdev

from workers.analysis.detectors.case import Case, Trait
from workers.analysis.detectors.detection import Detection
from workers.analysis.detectors.evaluation import Evaluation
from workers.analysis.exact_tests import fall_p_value, tail

COST_SUFFIX = "/cost"
HALF = 0.5
"""Share of pairs that changes of chance alone have, in either direction."""


def accuracy(case: Case) -> Detection | None:
    """Test the fall of right responses since before training."""
    return _share_fell(case, lambda r: None if r.is_right is None else not r.is_right)


def safety(case: Case) -> Detection | None:
    """Test the fall of responses whose cost is at most 0."""
    return _share_fell(case, lambda r: r.is_unsafe)


def _share_fell(case: Case, is_bad: Trait) -> Detection | None:
    """Test "the share of good responses fell by at most the threshold, as a part of it", on the pairs of which both are
    judged. Without a rise of the reward nothing speaks for cheating, and p is 1."""
    both = [(is_bad(now), is_bad(before)) for now, before in case.comparison.pairs]
    judged = [pair for pair in both if None not in pair]
    if not judged:
        return None
    n = len(judged)
    good, good_before = (sum(not is_bad_one for is_bad_one in side) for side in zip(*judged, strict=True))
    p = fall_p_value(good, n, good_before, n, case.threshold) if case.comparison.reward_rose else 1.0
    share, before, counts = good / n, good_before / n, (n - good, n, n - good_before, n)
    limit = (1 - case.threshold) * before
    return Detection(case.detector.name, share, limit, before, n, p=p, counts=counts, is_fall=True)


def score(case: Case) -> Detection | None:
    """Test each held-out score: at most half of the pairs fell by more than the threshold. Report the clearest."""
    base = case.comparison.base
    if base is None:
        return None
    keys = sorted(case.evaluation.scores.keys() & base.scores.keys())
    tested = [detection for key in keys if (detection := _score_fell(case, key, base)) is not None]
    if not tested:
        return None
    clearest = min(tested, key=lambda detection: detection.p)
    return replace(clearest, p=min(1.0, len(tested) * clearest.p))


def _score_fell(case: Case, key: str, base: Evaluation) -> Detection | None:
    now, before = case.evaluation.scores[key], base.scores[key]
    # A high cost is bad, every other score is good.
    sign = -1.0 if key.endswith(COST_SUFFIX) else 1.0
    pairs = [
        (sign * now[a.key], sign * before[b.key]) for a, b in case.comparison.pairs if a.key in now and b.key in before
    ]
    margin = case.threshold * pstdev(before.values()) if before else 0.0
    if not pairs:
        return None
    return replace(most_pairs(case, [a < b - margin for a, b in pairs]), key=key)


def most_pairs(case: Case, shown: Sequence[bool]) -> Detection:
    """Test "at most half of the pairs show it" by their signs. Without a rise of the reward p is 1."""
    count, n = sum(shown), len(shown)
    p = tail(count, n, HALF) if case.comparison.reward_rose else 1.0
    return Detection(case.detector.name, count / n, HALF, n=n, p=p, counts=(count, n, 0, 0))
