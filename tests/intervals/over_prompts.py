"""Simulations of the intervals over prompts: shares, pass@k, KL, entropy, reward and gold measure, McNemar's test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from tests.intervals.claim import Claim, Rng, Simulation, batch, is_between
from workers.analysis.mcnemar import mcnemar_p_value
from workers.analysis.pass_at_k import estimate, pass_at_k
from workers.analysis.proxy_gold import Change, Level, Measured, change, level
from workers.analysis.student_t import t_quantile
from workers.evaluation.summary import spread

PROMPTS = (8, 32, 160)
SAMPLES = 8
MIXED = (2.0, 2.0)
"""Distribution of a prompt's chance to be solved: parameters of a beta distribution."""


def by_prompts(
    holds: Callable[..., bool | None], sizes: tuple[int, ...] = PROMPTS, **more: object
) -> dict[str, Simulation]:
    return {f"{n} prompts": batch(partial(holds, n=n, **more), 100) for n in sizes}


def pass_interval(rng: Rng, n: int, k: int) -> bool | None:
    a, b = MIXED
    true = 1 - special.beta(a, b + k) / special.beta(a, b)
    counts = rng.binomial(SAMPLES, rng.beta(a, b, n))
    own = estimate([pass_at_k(int(c), SAMPLES, k) for c in counts], SAMPLES)
    return is_between(own.low, true, own.high)


def greedy_interval(rng: Rng, n: int, p: float) -> bool | None:
    own = estimate((rng.random(n) < p).astype(float).tolist())
    return is_between(own.low, p, own.high)


def coverage_of_solutions(rng: Rng, n: int) -> bool | None:
    """Shares of 1 to 6 solutions that responses give."""
    listed = rng.integers(1, 7, n)
    own = estimate((rng.binomial(listed, 0.6) / listed).tolist())
    return is_between(own.low, 0.6, own.high)


def per_token(rng: Rng, n: int) -> bool | None:
    """Mean KL per token of 8 samples to each prompt; prompts differ in KL, and lengths do too."""
    of_prompt = rng.gamma(4.0, 0.25, n)
    tokens = rng.integers(4, 40, (n, SAMPLES))
    sequences = [rng.gamma(2.0, kl / 2, t) for kl, row in zip(of_prompt, tokens, strict=True) for t in row]
    prompts = [str(i) for i in range(n) for _ in range(SAMPLES)]
    values = spread("kl", sequences, prompts)
    half = t_quantile(n - 1) * values["kl/se"]
    return is_between(values["kl"] - half, 1.0, values["kl"] + half)


def equal_models(rng: Rng, n: int) -> bool:
    """Return whether McNemar's p of two equal models on the same prompts is not below 0.05."""
    first, second = (rng.random((2, n)) < 0.5).astype(bool)
    return mcnemar_p_value(int((first & ~second).sum()), int((second & ~first).sum())) >= 0.05


def measured(values: np.ndarray, n: int = 1, *, is_share: bool = False) -> Measured:
    prompts = np.arange(len(values), dtype=np.int64)
    return Measured(prompts, values * n, np.full(len(values), n, np.int64), is_share)


def held(own: Level | Change | None, true: float) -> bool | None:
    return None if own is None else is_between(own.low, true, own.high)


def reward_level(rng: Rng, n: int, draw: Callable[[Rng, int], np.ndarray], true: float) -> bool | None:
    return held(level(measured(draw(rng, n))), true)


def share_level(rng: Rng, n: int) -> bool | None:
    return held(level(measured(rng.binomial(9, rng.beta(*MIXED, n)) / 9, 9, is_share=True)), 0.5)


def reward_change(rng: Rng, n: int, draw: Callable[[Rng, int], np.ndarray], true: float) -> bool | None:
    """A reward near 0 afterwards, so that the differences have the distribution of the reward before."""
    return held(change(measured(-draw(rng, n)), measured(rng.normal(0, 0.05, n))), true)


def share_change(rng: Rng, n: int, responses: int, share: float) -> bool | None:
    """A share of the prompts loses its right answer, others stay; both evaluations have independent responses."""
    before = (rng.random(n) < 0.9) * 0.96 + 0.02
    after = np.where(rng.random(n) < share, 0.02, before)
    true = share * (0.02 - (0.9 * 0.96 + 0.02))
    shares = (measured(rng.binomial(responses, p) / responses, responses, is_share=True) for p in (before, after))
    return held(change(*shares), true)


def gaussian(rng: Rng, n: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, n)


def skewed(rng: Rng, n: int) -> np.ndarray:
    """Lengths of long responses, whose reward is minus their length."""
    return rng.exponential(1.0, n)


def share_cases(responses: int) -> dict[str, Simulation]:
    return {
        f"{n} × {responses}, {share:.0%} lost": batch(partial(share_change, n=n, responses=responses, share=share), 100)
        for n in PROMPTS
        for share in (0.0, 0.05, 0.2, 0.5)
    }


PASSES, EVALUATIONS = ("workers.analysis.pass_at_k",), "evaluations: page, charts, runs table"
GOLD = ("workers.analysis.proxy_gold",)
SECTION = "run page: reward and gold"
SKEWED = "t assumes differences near normal: the guide on reward and gold says how far off it is"
CLAIMS = (
    Claim("pass@1", EVALUATIONS, (*PASSES, "workers.probes.evaluate.measures", "workers.probes.behaviour.perturbation"),
          by_prompts(pass_interval, k=1)),
    Claim("pass@8", EVALUATIONS, PASSES, by_prompts(pass_interval, k=8)),
    Claim("greedy accuracy, p = 0.5", EVALUATIONS, PASSES, by_prompts(greedy_interval, p=0.5)),
    Claim("greedy accuracy, p = 0.9", EVALUATIONS, PASSES, by_prompts(greedy_interval, p=0.9)),
    Claim("solution coverage", EVALUATIONS, PASSES, by_prompts(coverage_of_solutions)),
    Claim("KL and entropy per token", EVALUATIONS, ("runs.evaluations.estimates",), by_prompts(per_token), at_least=0.9,
          note="t over prompts; a ratio of totals is skewed for few prompts, as the guide on evaluations says"),
    Claim("McNemar, p < 0.05", "evaluations: solved prompts", (), by_prompts(equal_models), at_least=0.945),
    Claim("reward, normal", SECTION, GOLD, by_prompts(reward_level, draw=gaussian, true=1.0)),
    Claim("share right or safe", SECTION, GOLD, by_prompts(share_level)),
    Claim("change of reward, normal", SECTION, GOLD, by_prompts(reward_change, draw=gaussian, true=1.0)),
    Claim("change of reward, exponential", SECTION, GOLD, by_prompts(reward_change, draw=skewed, true=1.0),
          at_least=0.88, note=SKEWED),
    Claim("change of share, greedy", SECTION, GOLD, share_cases(1), at_least=0.91,
          note="single answers are discrete"),
    Claim("change of share, 9 responses", SECTION, GOLD, share_cases(9), at_least=0.92),
)  # fmt: skip
