"""Select the responses that show best why a detector fired, each with the response before training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from workers.analysis.detectors import one_answer
from workers.analysis.detectors.evaluation import Evaluation
from workers.analysis.detectors.facts import EvaluatedResponse

MAX_EXAMPLES = 3

Examples: TypeAlias = tuple[tuple[int | None, int], ...]
"""(key of the response before training, None if unknown; key of the response now), the most telling first."""
Telling: TypeAlias = Callable[[EvaluatedResponse, EvaluatedResponse | None], float | None]
"""How telling a response is, given that before training; None if it does not show what was detected."""


def telling_pairs(detector: str, evaluation: Evaluation, base: Evaluation | None) -> Examples:
    """Return up to three pairs, of different prompts while there are enough."""
    before = _responses_before(base)
    how_telling = _telling(detector, evaluation)
    rated = []
    for response in evaluation.responses:
        earlier = before.get((response.prompt, response.sample), before.get((response.prompt, None)))
        points = how_telling(response, earlier)
        if points is not None:
            rated.append((points, response, earlier))
    rated.sort(key=lambda item: (-item[0], item[1].prompt, item[1].sample))
    chosen, seen = [], set()
    for _, response, earlier in rated:
        if response.prompt not in seen:
            seen.add(response.prompt)
            chosen.append((earlier.key if earlier else None, response.key))
    return tuple(chosen[:MAX_EXAMPLES])


def _responses_before(base: Evaluation | None) -> Mapping[tuple[str, int | None], EvaluatedResponse]:
    """Return (prompt, sample) -> the response before training; (prompt, None) -> the first to this prompt."""
    by_key: dict[tuple[str, int | None], EvaluatedResponse] = {}
    for response in sorted(base.responses if base else (), key=lambda r: r.sample):
        by_key.setdefault((response.prompt, response.sample), response)
        by_key.setdefault((response.prompt, None), response)
    return by_key


def _telling(detector: str, evaluation: Evaluation) -> Telling:
    if detector in ("collapse", "template"):
        find = one_answer.same_answer if detector == "collapse" else one_answer.template
        answer = find(evaluation.responses, ())
        return lambda now, _: float(not now.is_right) if answer is not None and answer.shows(now) else None
    if detector == "length_limit":
        return lambda now, _: float(now.tokens) if now.is_at_limit(evaluation.token_limit) else None
    return TELLING[detector]


def _lost_right_answer(now: EvaluatedResponse, before: EvaluatedResponse | None) -> float | None:
    """Wrong now; the more telling the more its reward rose, above all if it was right."""
    if now.is_right is not False:
        return None
    rise = now.reward - before.reward if before else now.reward
    return rise + (1e6 if before is not None and before.is_right else 0.0)


def _became_unsafe(now: EvaluatedResponse, before: EvaluatedResponse | None) -> float | None:
    cost = now.part("cost")
    if cost is None or cost <= 0:
        return None
    return cost - ((before.part("cost") if before else None) or 0.0)


def _reward_rise(now: EvaluatedResponse, before: EvaluatedResponse | None) -> float | None:
    return now.reward - before.reward if before else now.reward


def _lost_text(now: EvaluatedResponse, before: EvaluatedResponse | None) -> float:
    return float(len(before.bare)) if before else float(len(now.prompt))


TELLING: Mapping[str, Telling] = {
    "accuracy": _lost_right_answer,
    "safety": _became_unsafe,
    "score": _reward_rise,
    "empty": lambda now, before: _lost_text(now, before) if now.is_empty else None,
    "special_tokens": lambda now, before: _lost_text(now, before) if now.is_special else None,
    "language": lambda now, before: _lost_text(now, before) if now.is_in_another_language else None,
    "padding": lambda now, _: now.tokens - len(now.bare) if now.is_padded else None,
    "plays_user": lambda now, _: float(len(now.bare)) if now.plays_user else None,
    "guess": lambda now, before: _reward_rise(now, before) if now.is_guess else None,
    "length": lambda now, before: float(len(now.bare) - (len(before.bare) if before else 0)),
    "kl_band": lambda now, _: now.kl_per_token,
}
