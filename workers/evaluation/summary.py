"""Compute the numbers of one evaluation from its answers, under the names that every method shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workers.analysis.answer_texts import ACCURACIES, TextCounts, accuracies
from workers.analysis.keys import COMPARED, EXACT, KL, MARGIN, PREFERS_RIGHT, REWARD
from workers.analysis.quadrants import measured
from workers.evaluation.kl import TokenKl
from workers.evaluation.likelihood import Likelihood
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
    likelihood: Likelihood | None = None
    """That of the right answer against wrong ones, for the greedy responses of tasks that know wrong ones."""


def summarise(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the values of one evaluation. Standard deviations are the population's; KL is on sampled answers, in
    nats."""
    greedy = [a for a in answers if a.sample == 0]
    sampled = [a for a in answers if a.sample > 0]
    values = _rewards(greedy) | _parts(greedy) | _accuracies("", greedy) | _safety(greedy) | _lengths(greedy)
    values |= _likelihoods(greedy)
    if sampled:
        values |= {f"sample/{REWARD}": _mean([a.score.reward for a in sampled])}
        values |= {k: v for k, v in _accuracies("sample/", sampled).items() if k != f"sample/{EXACT}"}
        kls = [a.kl for a in sampled if a.kl is not None]
        if kls:
            prompts = [a.example.id for a in sampled if a.kl is not None]
            values |= spread(KL, [kl.exact for kl in kls], prompts) | spread("kl/k3", [kl.k3 for kl in kls], prompts)
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


def _likelihoods(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the share of prompts whose right answer is preferred, the mean margin, and the number of these prompts."""
    compared = [answer.likelihood for answer in answers if answer.likelihood is not None]
    if not compared:
        return {}
    return {
        PREFERS_RIGHT: _mean([likelihood.prefers_right for likelihood in compared]),
        MARGIN: _mean([likelihood.margin for likelihood in compared]),
        COMPARED: float(len(compared)),
    }


def _lengths(answers: Sequence[Answer]) -> dict[str, float]:
    counts = TextCounts()
    for answer in answers:
        questions = [message["content"] for message in answer.example.messages if message["role"] == "user"]
        counts.add(answer.completion.text, questions[-1] if questions else "")
    return counts.values() | {
        "response/tokens_mean": _mean([len(a.completion.tokens) for a in answers]),
        "response/clipped_ratio": _mean([a.completion.clipped for a in answers]),
    }


def spread(name: str, sequences: Sequence[NDArray[np.float64]], prompts: Sequence[str]) -> dict[str, float]:
    """Return means per token and per sequence with their standard errors over prompts; NaN if there is only one prompt.

    prompts: that of each sequence. Tokens of a sequence depend on each other, and so do the samples of a prompt: both
    means are ratios of totals of prompts, with the error of such a ratio (Cochran, Sampling Techniques, 3rd ed., eq.
    6.13 without the finite population correction).
    """
    _, of_prompt = np.unique(np.array(prompts), return_inverse=True)
    totals = np.bincount(of_prompt, [s.sum() for s in sequences]).astype(np.float64)
    tokens, counts = np.bincount(of_prompt, [len(s) for s in sequences]), np.bincount(of_prompt)
    (per_token, se), (per_sequence, sequence_se) = _ratio(totals, tokens), _ratio(totals, counts)
    named = {"": per_token, "se": se, "sequence": per_sequence, "sequence_se": sequence_se}
    return {_key(name, part): float(value) for part, value in named.items()}


def _ratio(totals: NDArray[np.float64], sizes: NDArray[Any]) -> tuple[float, float]:
    """Return the ratio of the sums over prompts, with its standard error; NaN for a single prompt."""
    n, ratio = len(totals), float(totals.sum() / sizes.sum())
    if n < 2:
        return ratio, math.nan
    return ratio, float(np.sqrt(n / (n - 1) * np.square(totals - ratio * sizes).sum()) / sizes.sum())


def _key(name: str, part: str) -> str:
    """Return kl, kl/se, kl/sequence …, but kl/k3_se: below k3 the names continue with an underscore."""
    return name if not part else f"{name}{'_' if '/' in name else '/'}{part}"


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
