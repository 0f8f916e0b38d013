"""Apply the detectors to one evaluation: each measures its statistic and tests the hypothesis of an honest run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workers.analysis.detectors import gold_rules, one_answer
from workers.analysis.detectors.budget import level
from workers.analysis.detectors.case import Case, Rule, Trait
from workers.analysis.detectors.detection import Detection
from workers.analysis.detectors.evaluation import Evaluation, Peer
from workers.analysis.detectors.examples import telling_pairs
from workers.analysis.detectors.facts import EvaluatedResponse
from workers.analysis.detectors.kl import kl_tests, reference_of
from workers.analysis.detectors.matching import Comparison
from workers.analysis.detectors.thresholds import DETECTORS, DETECTORS_BY_NAME, Thresholds
from workers.analysis.exact_tests import rise_p_value, tail
from workers.analysis.keys import KL


def detect(
    evaluation: Evaluation,
    base: Evaluation | None,
    peers: Sequence[Peer] = (),
    thresholds: Thresholds | None = None,
    number: int = 1,
) -> list[Detection]:
    """Return the detectors that fire, in the order of DETECTORS, each with up to three telling pairs of responses. The
    parameters are those of `judge`."""
    fired = [detection for detection in judge(evaluation, base, peers, thresholds, number) if detection.fired]
    return [replace(each, examples=telling_pairs(each.detector, evaluation, base)) for each in fired]


def judge(
    evaluation: Evaluation,
    base: Evaluation | None,
    peers: Sequence[Peer] = (),
    thresholds: Thresholds | None = None,
    number: int = 1,
) -> list[Detection]:
    """Return the result of each detector that can judge the evaluation, fired or not, in the order of DETECTORS.

    base: the evaluation before training; None if none is known. It is never judged itself, and does not count if it
    shows too many other prompts. peers: runs that differ in their seed alone, for the KL. thresholds: overrides of the
    defaults; a detector whose threshold is None is off. number: the evaluation's, counted from 1 after the base.
    """
    comparison, changed = Comparison(evaluation, base), thresholds or {}
    detections = []
    for detector in DETECTORS:
        threshold = changed.get(detector.name, detector.threshold)
        if threshold is None:
            continue
        case = Case(comparison, peers, detector, threshold, level(detector, evaluation, number))
        if (detection := RULES[detector.name](case)) is not None:
            detections.append(replace(detection, level=case.level, number=number))
    return detections


def _share_rule(is_shown: Trait, is_shown_before: Trait | None = None) -> Rule:
    """Return the rule for a trait of responses: their share rose by more than the threshold. is_shown_before: what is
    counted before training, if it differs."""

    def rule(case: Case) -> Detection | None:
        return _share_rose(case, is_shown, is_shown_before or is_shown)

    return rule


def _share_rose(case: Case, is_shown: Trait, is_shown_before: Trait) -> Detection | None:
    pairs = case.comparison.pairs
    if not pairs:
        responses = case.evaluation.responses
        return _rose(case, sum(map(bool, map(is_shown, responses))), len(responses), 0, 0)
    count, before = sum(bool(is_shown(now)) for now, _ in pairs), sum(bool(is_shown_before(b)) for _, b in pairs)
    return _rose(case, count, len(pairs), before, len(pairs))


def _rose(case: Case, count: int, n: int, before: int, m: int, expected: int = 0) -> Detection | None:
    """Test the rise of a share; without a base (m = 0) the share against the fixed limit. Also test its rise above the
    share `expected` of n, which an honest run may have whatever was before."""
    alone = case.detector.limit_alone(case.threshold)
    if not n or (not m and alone is None):
        return None
    if m:
        limit, p = before / m + case.threshold, rise_p_value(count, n, before, m, case.threshold)
    else:
        limit, p = alone or 0.0, tail(count, n, alone or 0.0)
    if expected:
        above = min(1.0, expected / n + case.threshold)
        limit, p = max(limit, above), max(p, tail(count, n, above))
    share_before, counts = before / m if m else None, (count, n, before, m)
    return Detection(case.detector.name, count / n, min(1.0, limit), share_before, n, p=p, counts=counts)


def _guess(case: Case) -> Detection | None:
    """Compare bare wrong answers with all wrong ones before training: an honest model may only shorten them."""
    if not case.evaluation.facts.judged:
        return None
    return _share_rose(case, lambda r: r.is_guess, lambda r: r.is_right is False)


def _length_limit(case: Case) -> Detection | None:
    limit = case.evaluation.token_limit
    if limit is None:
        return None
    if case.comparison.base is not None and not case.comparison.has_same_limit:
        return None
    return _share_rose(case, lambda r: r.is_at_limit(limit), lambda r: r.is_at_limit(limit))


def _length(case: Case) -> Detection | None:
    """Test "at most half of the responses are longer than so many times their partner before training". An empty
    response has no length to compare with. Where right responses rose, the length may be what made them right."""
    pairs = [(now, before) for now, before in case.comparison.pairs if not before.is_empty]
    if not pairs:
        return None
    longer = gold_rules.most_pairs(case, [len(now.bare) > case.threshold * len(before.bare) for now, before in pairs])
    judged = [(now.is_right, before.is_right) for now, before in case.comparison.pairs]
    gained = sum(int(now) - int(before) for now, before in judged if now is not None and before is not None)
    return replace(longer, p=1.0) if gained > 0 else longer


def _collapse(case: Case) -> Detection | None:
    now, before = _sides(case)
    return _common(case, one_answer.same_answer(now, before), len(now))


def _template(case: Case) -> Detection | None:
    now, before = _sides(case)
    return _common(case, one_answer.template(now, before, case.threshold), len(now))


def _sides(case: Case) -> tuple[Sequence[EvaluatedResponse], Sequence[EvaluatedResponse]]:
    pairs = case.comparison.pairs
    return ([now for now, _ in pairs], [before for _, before in pairs]) if pairs else (case.evaluation.responses, ())


def _common(case: Case, answer: one_answer.CommonAnswer | None, n: int) -> Detection | None:
    """Test the common answer for each of its candidates, and report the one that shows it least."""
    if answer is None:
        return _rose(case, 0, n, 0, 0)
    tested = [detection for table in answer.tables if (detection := _rose(case, *table, answer.expected)) is not None]
    if not tested:
        return None
    weakest = max(tested, key=lambda detection: detection.p)
    return replace(weakest, p=min(1.0, answer.factor * weakest.p))


def _kl_band(case: Case) -> Detection | None:
    reference, ceiling = reference_of(case.evaluation.model), case.threshold
    if reference is not None and reference.ceiling is not None and ceiling == DETECTORS_BY_NAME["kl_band"].threshold:
        ceiling = reference.ceiling
    tests = kl_tests(case.evaluation, case.peers, ceiling, case.level)
    if not tests:
        return None
    test = tests[0]
    return Detection("kl_band", case.evaluation.values[KL], test.limit, test.before, test.n, key=test.key, p=test.p)


RULES: Mapping[str, Rule] = {
    "accuracy": gold_rules.accuracy,
    "safety": gold_rules.safety,
    "score": gold_rules.score,
    "empty": _share_rule(lambda r: r.is_empty),
    "special_tokens": _share_rule(lambda r: r.is_special),
    "language": _share_rule(lambda r: r.is_in_another_language),
    "padding": _share_rule(lambda r: r.is_padded),
    "plays_user": _share_rule(lambda r: r.plays_user),
    "template": _template,
    "guess": _guess,
    "length_limit": _length_limit,
    "length": _length,
    "collapse": _collapse,
    "kl_band": _kl_band,
}
