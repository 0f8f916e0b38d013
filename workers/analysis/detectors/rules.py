"""Apply the detectors to one evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import TypeAlias

from workers.analysis.detectors.evaluation import ACCURACIES, Evaluation, Peer
from workers.analysis.detectors.examples import Examples, telling_pairs
from workers.analysis.detectors.facts import Facts
from workers.analysis.detectors.thresholds import DETECTORS, Thresholds
from workers.analysis.keys import KL, REWARD, SAFE

ERRORS = 3.0
"""Standard errors that a difference must exceed, so that chance does not flag a run."""
MIN_PROMPTS = 5
"""Fewer prompts do not show whether one answer goes to many."""
MIN_PEERS = 3
ROBUST_DEVIATIONS = 2.0
MAD_TO_DEVIATION = 1.4826
"""Factor from the median absolute deviation to the standard deviation of a normal distribution."""
COST_SUFFIX = "/cost"
ALL_AT_LIMIT = 0.9
"""Share of responses at the limit of tokens that fires without an evaluation before training."""


@dataclass(frozen=True)
class Detection:
    """A detector that fired. value, limit: the measured number and the one that it passed. before: the number before
    training, or of `compared_with`, the other run; None if there was neither. n: responses behind the value, None if
    unknown; of the KL band, the number of other runs. key: the metric or score that fell, if there are several."""

    detector: str
    value: float
    limit: float
    before: float | None = None
    n: int | None = None
    compared_with: str = ""
    key: str = ""
    examples: Examples = ()


Rule: TypeAlias = Callable[[Evaluation, Evaluation | None, Sequence[Peer], float], Detection | None]


def detect(
    evaluation: Evaluation, base: Evaluation | None, peers: Sequence[Peer] = (), thresholds: Thresholds | None = None
) -> list[Detection]:
    """Return the detectors that fire, in the order of DETECTORS, each with up to three telling pairs of responses.

    base: the evaluation before training, with the same prompts; None if none is known. It is never judged itself.
    thresholds: overrides of the defaults; a detector whose threshold is None is off.
    """
    detections = []
    for detector in DETECTORS:
        threshold = {} if thresholds is None else thresholds
        limit = threshold.get(detector.name, detector.threshold)
        detection = None if limit is None else RULES[detector.name](evaluation, base, peers, limit)
        if detection is not None:
            detections.append(detection)
    return [_with_examples(detection, evaluation, base) for detection in detections]


def _with_examples(detection: Detection, evaluation: Evaluation, base: Evaluation | None) -> Detection:
    pairs = telling_pairs(detection.detector, evaluation, base)
    return Detection(**{**vars(detection), "examples": pairs})


def _accuracy(
    evaluation: Evaluation, base: Evaluation | None, peers: Sequence[Peer], threshold: float
) -> Detection | None:
    if base is not None:
        return _share_fell("accuracy", ACCURACIES, evaluation, base, threshold)
    return _less_accurate_than_a_peer(evaluation, peers, threshold)


def _safety(evaluation: Evaluation, base: Evaluation | None, _: Sequence[Peer], threshold: float) -> Detection | None:
    return None if base is None else _share_fell("safety", (SAFE,), evaluation, base, threshold)


def _share_fell(
    name: str, keys: Sequence[str], evaluation: Evaluation, base: Evaluation, threshold: float
) -> Detection | None:
    key = next((key for key in keys if _is_finite(evaluation, key) and _is_finite(base, key)), None)
    if key is None or not _reward_rose(evaluation, base):
        return None
    value, before = evaluation.values[key], base.values[key]
    n, m = len(evaluation.greedy), len(base.greedy)
    limit = before - max(threshold, _chance(value, n, before, m))
    return Detection(name, value, limit, before, n or None, key=key) if value < limit else None


def _less_accurate_than_a_peer(evaluation: Evaluation, peers: Sequence[Peer], threshold: float) -> Detection | None:
    reward = evaluation.reward
    if reward is None:
        return None
    for key in ACCURACIES:
        if not _is_finite(evaluation, key):
            continue
        poorer = [peer for peer in peers if _is_finite(peer, key) and peer.values.get(REWARD, math.inf) < reward]
        if not poorer:
            continue
        best = max(poorer, key=lambda peer: (peer.values[key], peer.name))
        value, before, n = evaluation.values[key], best.values[key], len(evaluation.greedy)
        limit = before - max(threshold, _chance(value, n, before, n))
        return Detection("accuracy", value, limit, before, n or None, best.name, key) if value < limit else None
    return None


def _score(evaluation: Evaluation, base: Evaluation | None, _: Sequence[Peer], threshold: float) -> Detection | None:
    """Return the held-out score that fell most, in standard deviations of the scores before training."""
    if base is None or not _reward_rose(evaluation, base):
        return None
    worst: tuple[float, Detection] | None = None
    for key in sorted(evaluation.scores.keys() & base.scores.keys()):
        # A high cost is bad, every other score is good.
        sign = -1.0 if key.endswith(COST_SUFFIX) else 1.0
        scores, before = ([sign * score for score in given[key]] for given in (evaluation.scores, base.scores))
        spread = pstdev(before) if before else 0.0
        if not scores or spread == 0.0:
            continue
        value, mean = fmean(scores), fmean(before)
        error = math.sqrt(pstdev(scores) ** 2 / len(scores) + spread**2 / len(before))
        limit = mean - max(threshold * spread, ERRORS * error)
        fall = (mean - value) / spread
        if value < limit and (worst is None or fall > worst[0]):
            worst = fall, Detection("score", sign * value, sign * limit, sign * mean, len(scores), key=key)
    return worst[1] if worst else None


def _share_rule(name: str) -> Rule:
    """Return the rule for a count among `Facts`: more than a share of the responses, or than before training."""

    def rule(evaluation: Evaluation, base: Evaluation | None, _: Sequence[Peer], threshold: float) -> Detection | None:
        return _share_rose(name, evaluation, base, threshold)

    return rule


COUNTS: Mapping[str, Callable[[Facts], int]] = {
    "empty": lambda facts: facts.empty,
    "special_tokens": lambda facts: facts.special_tokens,
    "language": lambda facts: facts.other_language,
    "padding": lambda facts: facts.padded,
}


def _share_rose(name: str, evaluation: Evaluation, base: Evaluation | None, threshold: float) -> Detection | None:
    n = evaluation.facts.n
    if not n:
        return None
    value = COUNTS[name](evaluation.facts) / n
    before = COUNTS[name](base.facts) / base.facts.n if base is not None and base.facts.n else None
    limit = threshold + (before or 0.0)
    return Detection(name, value, limit, before, n) if value > limit else None


def _length_limit(
    evaluation: Evaluation, base: Evaluation | None, _: Sequence[Peer], threshold: float
) -> Detection | None:
    n = evaluation.facts.n
    if not n:
        return None
    value = evaluation.facts.at_limit / n
    before = base.facts.at_limit / base.facts.n if base is not None and base.facts.n else None
    limit = ALL_AT_LIMIT if before is None else before + threshold
    return Detection("length_limit", value, limit, before, n) if value > limit else None


def _length(evaluation: Evaluation, base: Evaluation | None, _: Sequence[Peer], threshold: float) -> Detection | None:
    if base is None or not base.facts.characters or not _reward_rose(evaluation, base):
        return None
    value, before = evaluation.facts.characters, base.facts.characters
    limit = threshold * before
    return Detection("length", value, limit, before, evaluation.facts.n) if value > limit else None


def _collapse(evaluation: Evaluation, base: Evaluation | None, _: Sequence[Peer], threshold: float) -> Detection | None:
    facts = evaluation.facts
    if facts.prompts < MIN_PROMPTS:
        return None
    value = facts.same_answer / facts.prompts
    before = base.facts.same_answer / base.facts.prompts if base is not None and base.facts.prompts else None
    limit = threshold + (before or 0.0)
    return Detection("collapse", value, limit, before, facts.n) if value > limit else None


def _kl_band(evaluation: Evaluation, _: Evaluation | None, peers: Sequence[Peer], threshold: float) -> Detection | None:
    others = [peer.values[KL] for peer in peers if _is_finite(peer, KL) and peer.values[KL] > 0]
    if len(others) < MIN_PEERS or not _is_finite(evaluation, KL):
        return None
    logs = [math.log(value) for value in others]
    middle = median(logs)
    spread = MAD_TO_DEVIATION * median(abs(log - middle) for log in logs)
    limit = math.exp(middle + max(math.log(threshold), ROBUST_DEVIATIONS * spread))
    value = evaluation.values[KL]
    return Detection("kl_band", value, limit, math.exp(middle), len(others), key=KL) if value > limit else None


RULES: Mapping[str, Rule] = {
    "accuracy": _accuracy,
    "safety": _safety,
    "score": _score,
    **{name: _share_rule(name) for name in COUNTS},
    "length_limit": _length_limit,
    "length": _length,
    "collapse": _collapse,
    "kl_band": _kl_band,
}


def _reward_rose(evaluation: Evaluation, base: Evaluation) -> bool:
    now, before = evaluation.reward, base.reward
    return now is not None and before is not None and now > before


def _is_finite(measured: Evaluation | Peer, key: str) -> bool:
    return math.isfinite(measured.values.get(key, math.nan))


def _chance(share: float, n: int, other: float, m: int) -> float:
    """Return how far two shares of so many responses differ by chance: three standard errors, the shares pooled. 0 if
    the numbers of responses are unknown."""
    if not n or not m:
        return 0.0
    pooled = (share * n + other * m) / (n + m)
    return ERRORS * math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
