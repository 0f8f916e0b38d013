"""Intervals of agreement cover the true value as often as they promise, with few prompts too."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cases import each_case
from workers.analysis.kappa import cohen_kappa
from workers.analysis.resampling import Estimate, estimate_statistic, share_statistic

ITEMS, RESAMPLES = 6, 400
WHOLE = 200_000
"""Prompts of the simulated population, whose value is the true one."""
STATISTICS = {"share": share_statistic, "kappa": cohen_kappa}


def tables(kind: str, prompts: int, rng: np.random.Generator) -> np.ndarray:
    """Return a table for each prompt: of a share, or of two raters' labels who each err on some items."""
    if kind == "share":
        right = rng.binomial(ITEMS, rng.beta(2.0, 1.2, prompts))
        return np.stack([right, np.full(prompts, ITEMS)], axis=1).astype(float)
    truth = rng.random((prompts, ITEMS)) < rng.beta(1, 1, prompts)[:, None]
    labels = [
        np.where(rng.random(truth.shape) < error, rng.random(truth.shape) < 0.5, truth).astype(int)
        for error in (0.2, 0.3)
    ]
    met = np.zeros((prompts, 2, 2))
    np.add.at(met, (np.arange(prompts)[:, None], *labels), 1)
    return met


def estimate(kind: str, prompts: int, seed: int) -> Estimate:
    own = tables(kind, prompts, np.random.default_rng(seed))
    return estimate_statistic(own, np.arange(prompts), STATISTICS[kind], "", resamples=RESAMPLES, seed=seed)


def coverage(kind: str, prompts: int, rounds: int) -> float:
    true = STATISTICS[kind](tables(kind, WHOLE, np.random.default_rng(0)).sum(axis=0)[None])[0]
    intervals = [estimate(kind, prompts, seed) for seed in range(1, rounds + 1)]
    return float(np.mean([each.low <= true <= each.high for each in intervals if each.low is not None]))


@each_case("kind", STATISTICS)
def test_interval_of_ten_prompts_covers_the_truth(kind: str) -> None:
    rounds = 200

    assert coverage(kind, 10, rounds) > 0.95 - 1.65 * np.sqrt(0.95 * 0.05 / rounds)


@pytest.mark.soak
@pytest.mark.parametrize("prompts", [10, 20, 32, 100])
def test_coverage_of_agreement_is_between_92_and_98_percent(prompts: int) -> None:
    print("\nname, prompts, coverage")
    shares = {kind: coverage(kind, prompts, 2000) for kind in STATISTICS}
    for kind, share in shares.items():
        print(f"{kind:8} {prompts:4} {share:.3f}")
    assert all(0.92 < share < 0.98 for share in shares.values()), shares


def test_interval_of_two_prompts_holds_both() -> None:
    estimated = estimate_statistic(np.array([[1.0, 4.0], [3.0, 4.0]]), np.arange(2), share_statistic, "")

    assert (estimated.low, estimated.high) == (0.25, 0.75)
