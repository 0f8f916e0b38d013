"""Measures of the training's tokens: against numpy from given tensors, and in a run against TRL's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engines.es.runs import Conciseness, records_of
from tests.workers.engines.grpo.test_resume import run, stream
from workers.engines.grpo import measures
from workers.models import Loaded
from workers.records import Population
from workers.tasks import Example, Score

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
LOG_PROBS = torch.tensor([[-1.0, -2.0, -0.5], [-0.25, -3.0, -9.0]])
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])
KL_KEYS = {"train/kl/k1", "train/kl/k2", "train/kl/k3"}


class AlwaysEqual(Conciseness):
    """A task whose responses all get the same reward."""

    def score(self, example: Example, completion: str) -> Score:
        return Score(0.1, {"exact": 0.0})


def means(**inputs: torch.Tensor) -> dict[str, float]:
    """Return what one process logs of a batch."""
    logged: dict[str, list[float]] = {}
    sums = measures.token_sums(LOG_PROBS, {"completion_mask": MASK, **inputs})
    measures.TokenMeans(lambda values: values).add(logged, sums)
    return {name: value for name, (value,) in logged.items()}


def selected(values: torch.Tensor) -> Any:
    return values[MASK.bool()].double().numpy()


def test_sampled_entropy_is_mean_over_tokens_of_the_loss() -> None:
    assert means() == {"entropy/sampled": pytest.approx(6.75 / 5, abs=1e-12)}


def test_kl_estimates_match_numpy() -> None:
    reference = LOG_PROBS + torch.tensor([[0.3, -0.2, 1e-5], [0.0, 1.5, 50.0]])
    r = selected(reference) - selected(LOG_PROBS)
    values = means(ref_per_token_logps=reference)
    assert values["kl/k1"] == pytest.approx(np.mean(-r), rel=1e-6)
    assert values["kl/k2"] == pytest.approx(np.mean(r**2 / 2), rel=1e-6)
    assert values["kl/k3"] == pytest.approx(np.mean(np.expm1(r) - r), rel=1e-6)


def test_small_k3_is_not_lost_to_rounding() -> None:
    reference = LOG_PROBS + 2**-12
    assert means(ref_per_token_logps=reference)["kl/k3"] == pytest.approx(2**-25, rel=1e-3)


def test_sampler_kl_excludes_and_counts_unscored_tokens() -> None:
    sampler = LOG_PROBS + torch.tensor([[0.1, float("nan"), -0.2], [0.0, 0.4, float("nan")]])
    r = np.array([-0.1, 0.2, 0.0, -0.4])
    values = means(sampling_per_token_logps=sampler)
    assert values["sampling/kl_k1"] == pytest.approx(np.mean(-r), rel=1e-5)
    assert values["sampling/kl_k3"] == pytest.approx(np.mean(np.expm1(r) - r), rel=1e-5)
    assert values["sampling/unscored_tokens"] == 1


def test_sampler_is_compared_with_the_trainer_that_it_sampled_for() -> None:
    assert means(sampling_per_token_logps=LOG_PROBS - 1, old_per_token_logps=LOG_PROBS - 1)["sampling/kl_k1"] == 0


def test_unscored_tokens_add_up_over_the_passes_of_a_step() -> None:
    logged: dict[str, list[float]] = {}
    token_means, sampler = measures.TokenMeans(lambda values: values), torch.full_like(LOG_PROBS, float("nan"))
    for _ in range(2):
        sums = measures.token_sums(LOG_PROBS, {"completion_mask": MASK, "sampling_per_token_logps": sampler})
        token_means.add(logged, sums)
    assert logged["sampling/unscored_tokens"] == [10]
    assert np.isnan(logged["sampling/kl_k1"]).all()


def test_processes_are_summed_before_division() -> None:
    """Two processes of 5 and 1 tokens: a mean of their means would be another number."""
    other = {"completion_mask": torch.tensor([[1, 0, 0], [0, 0, 0]])}
    there = measures.token_sums(LOG_PROBS, other)
    logged: dict[str, list[float]] = {}
    more = torch.stack([torch.stack(pair) for pair in there.values()])
    here = measures.token_sums(LOG_PROBS, {"completion_mask": MASK})
    measures.TokenMeans(lambda values: values + more).add(logged, here)
    assert logged == {"entropy/sampled": [pytest.approx((6.75 + 1) / 6)]}


def test_passes_of_a_step_are_summed_before_division() -> None:
    """Two passes of 5 and 1 tokens, logged together; TRL empties its lists when it logs, and a new window begins."""
    logged: dict[str, list[float]] = {}
    token_means = measures.TokenMeans(lambda values: values)
    few = {"completion_mask": torch.tensor([[1, 0, 0], [0, 0, 0]])}
    for inputs in ({"completion_mask": MASK}, few):
        token_means.add(logged, measures.token_sums(LOG_PROBS, inputs))
    assert logged == {"entropy/sampled": [pytest.approx((6.75 + 1) / 6)]}
    logged.clear()
    token_means.add(logged, measures.token_sums(LOG_PROBS, few))
    assert logged == {"entropy/sampled": [1.0]}


def test_zero_variance_is_share_of_groups() -> None:
    rewards = torch.tensor([1.0, 1.0, 0.5, 1.0, 0.0, 0.0, 1.0, 1.0])
    assert measures.zero_variance_share(rewards, 2) == 0.75
    assert measures.zero_variance_share(rewards, 4) == 0.0


def test_run_with_reference_logs_three_estimates(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, beta=0.02)
    rows = [values for _, values in stream(tmp_path, 0)]
    assert len(rows) == 5
    for values in rows:
        assert values["train/kl/k3"] == pytest.approx(values["train/kl"], abs=1e-6)
        assert values["train/entropy/sampled"] > 0
        assert "train/sampling/kl_k1" not in values
    assert rows[0]["train/kl/k1"] == rows[0]["train/kl/k2"] == rows[0]["train/kl/k3"] == 0
    assert rows[-1]["train/kl/k3"] > 0


def test_run_without_reference_logs_no_kl(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, max_steps=2, scale_rewards="batch")
    rows = [values for _, values in stream(tmp_path, 0)]
    assert all(not KL_KEYS & values.keys() for values in rows)
    populations = records_of(tmp_path, Population)
    flat = [np.mean([m.parts["reward_min"] == m.parts["reward_max"] for m in p.members]) for p in populations]
    assert [values["train/groups/zero_variance"] for values in rows] == flat


def test_groups_of_equal_rewards_are_all_without_variance(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, AlwaysEqual(), max_steps=2)
    assert [values["train/groups/zero_variance"] for _, values in stream(tmp_path, 0)] == [1.0, 1.0]
