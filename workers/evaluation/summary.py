"""Compute the numbers of one evaluation from its answers, under the names that every method shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.analysis.answer_texts import ACCURACIES, TextCounts, accuracies
from workers.analysis.keys import EXACT, KL, REWARD
from workers.analysis.quadrants import measured
from workers.evaluation.kl import TokenKl
from workers.models.decoder import Completion
from workers.tasks import Example, Score
from workers.tasks.protocols import COST

PARTS_WITH_OWN_NAMES = (*ACCURACIES, COST, "empty", "characters")
"""Parts that have names of their own here: accuracy/…, cost/mean, response/empty_ratio, response/characters_mean."""


@dataclass(frozen=True)
class Answer:
    """One completion with its score. `sample` 0 is the greedy one, 1… are sampled."""

    example: Example
    sample: int
    completion: Completion
    score: Score
    kl: TokenKl | None


def summarise(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the values of one evaluation. Standard deviations are the population's; KL is on sampled answers, in
    nats."""
    greedy = [a for a in answers if a.sample == 0]
    sampled = [a for a in answers if a.sample > 0]
    values = _rewards(greedy) | _parts(greedy) | _accuracies("", greedy) | _safety(greedy) | _lengths(greedy)
    if sampled:
        values |= {f"sample/{REWARD}": _mean([a.score.reward for a in sampled])}
        values |= {k: v for k, v in _accuracies("sample/", sampled).items() if k != f"sample/{EXACT}"}
        kls = [a.kl for a in sampled if a.kl is not None]
        if kls:
            values |= spread(KL, [kl.exact for kl in kls]) | spread("kl/k3", [kl.k3 for kl in kls])
    return values


def _rewards(answers: Sequence[Answer]) -> dict[str, float]:
    rewards = np.array([a.score.reward for a in answers])
    return {f"reward/{name}": float(getattr(rewards, name)()) for name in ("mean", "std", "min", "max")}


def _parts(answers: Sequence[Answer]) -> dict[str, float]:
    """Return reward/<part>/mean of the task's own parts, over the answers that have the part."""
    names = dict.fromkeys(name for a in answers for name in a.score.parts if name not in PARTS_WITH_OWN_NAMES)
    having = {name: [a.score.parts[name] for a in answers if name in a.score.parts] for name in names}
    return {f"reward/{name}/mean": _mean(values) for name, values in having.items()}


def _accuracies(prefix: str, answers: Sequence[Answer]) -> dict[str, float]:
    return {f"{prefix}{key}": value for key, value in accuracies([a.score.parts for a in answers]).items()}


def _safety(answers: Sequence[Answer]) -> dict[str, float]:
    """Return cost/…, the share of safe answers and of each quadrant, if the task gives every answer a cost."""
    if not all(COST in a.score.parts for a in answers):
        return {}
    pairs = np.array([(a.score.reward, a.score.parts[COST]) for a in answers])
    return dict(measured(pairs[:, 0], pairs[:, 1]))


def _lengths(answers: Sequence[Answer]) -> dict[str, float]:
    counts = TextCounts()
    for answer in answers:
        questions = [message["content"] for message in answer.example.messages if message["role"] == "user"]
        counts.add(answer.completion.text, questions[-1] if questions else "")
    return counts.values() | {
        "response/tokens_mean": _mean([len(a.completion.tokens) for a in answers]),
        "response/clipped_ratio": _mean([a.completion.clipped for a in answers]),
    }


def spread(name: str, sequences: Sequence[NDArray[np.float64]]) -> dict[str, float]:
    """Return means per token and per sequence with their standard errors; NaN if there is only one sequence.

    Tokens of a sequence depend on each other, so the error per token is that of a ratio of totals over sequences
    (Cochran, Sampling Techniques, 3rd ed., eq. 6.13 without the finite population correction).
    """
    totals = np.array([s.sum() for s in sequences])
    tokens = np.array([len(s) for s in sequences])
    n = len(totals)
    per_token = totals.sum() / tokens.sum()
    residuals = totals - per_token * tokens
    more_than_one = n > 1
    se = np.sqrt(n / (n - 1) * np.square(residuals).sum()) / tokens.sum() if more_than_one else np.nan
    sequence_se = totals.std(ddof=1) / np.sqrt(n) if more_than_one else np.nan
    named = {"": per_token, "se": se, "sequence": totals.mean(), "sequence_se": sequence_se}
    return {_key(name, part): float(value) for part, value in named.items()}


def _key(name: str, part: str) -> str:
    """Return kl, kl/se, kl/sequence …, but kl/k3_se: below k3 the names continue with an underscore."""
    return name if not part else f"{name}{'_' if '/' in name else '/'}{part}"


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
