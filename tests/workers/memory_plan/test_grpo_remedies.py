"""Changes with which a GRPO run fits: each has been planned, fits the card, and is named with its numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.memory_plan.sizes import QWEN2_1_5B, QWEN2_7B, sizes_of
from workers.config import EvaluationConfig, GrpoConfig
from workers.config.es import BaseLoraConfig
from workers.config.grpo import GrpoVllmConfig
from workers.memory_plan import CardPlan, Remedy, find_remedies, plan_grpo, with_remedies
from workers.memory_plan.grpo import gb_text
from workers.memory_plan.grpo_remedies import NONE_FITS, SHORTER, SLEEP


def check(
    config: dict[str, Any], gb: float, grpo: GrpoConfig | None = None, world: int = 1
) -> tuple[CardPlan, list[Remedy]]:
    """Return the plan and the changes for a card of so many GB, with prompts of up to 512 tokens."""
    card = {"world": world, "per_gpu_card": int(gb * 1e9), "prompt_tokens": 512}
    chosen = grpo or GrpoConfig()
    sizes, evaluation = sizes_of(config), EvaluationConfig()
    return plan_grpo(sizes, chosen, evaluation, **card), find_remedies(sizes, chosen, evaluation, **card)


def test_7b_model_on_one_card_gets_changes_with_their_numbers() -> None:
    memory, remedies = check(QWEN2_7B, 141)
    text = with_remedies(memory, remedies).reason

    assert [remedy.describe().partition(" (")[0] for remedy in remedies] == [
        "train a LoRA adapter of rank 8, grpo.lora",
        "shard over 2 GPUs with grpo.sharding fsdp",
        "use grpo.gradient_checkpointing",
    ]
    assert text.startswith(f"it needs {gb_text(memory.needed)} GB; this card has 141 GB, of which 129 GB can be used: ")
    assert ", or use grpo.gradient_checkpointing (" in text
    for remedy in remedies:
        assert f"({gb_text(remedy.plan.needed)} GB" in text


@given(
    st.sampled_from([QWEN2_1_5B, QWEN2_7B]),
    st.integers(8, 200),
    st.builds(
        GrpoConfig,
        per_device_train_batch_size=st.sampled_from([1, 8, 24, 32]),
        gradient_accumulation_steps=st.sampled_from([1, 4]),
        max_completion_length=st.sampled_from([64, 256, 2048]),
        gradient_checkpointing=st.booleans(),
        beta=st.sampled_from([0.0, 0.1]),
        lora=st.sampled_from([None, BaseLoraConfig()]),
        vllm=st.sampled_from([None, GrpoVllmConfig()]),
    ),
    st.sampled_from([1, 2, 4]),
)
def test_every_change_fits(config: dict[str, Any], gb: int, grpo: GrpoConfig, world: int) -> None:
    _, remedies = check(config, gb, grpo, world)

    assert all(remedy.plan.fits and remedy.plan.card == gb * 10**9 for remedy in remedies)
    assert all("%" not in remedy.describe() for remedy in remedies)


def test_processes_that_hold_everything_can_shard_over_the_same_gpus() -> None:
    _, remedies = check(QWEN2_7B, 141, world=4)

    assert any("shard over 4 GPUs with grpo.sharding fsdp" in remedy.describe() for remedy in remedies)


def test_run_that_shards_needs_more_gpus() -> None:
    grpo = GrpoConfig(sharding="fsdp")
    memory, remedies = check(QWEN2_7B, 80, grpo, world=2)
    shards = [remedy for remedy in remedies if "shard over" in remedy.describe()]

    assert not memory.fits and shards and all(remedy.plan.processes > 2 for remedy in shards)


def test_full_training_gets_a_change_that_keeps_it() -> None:
    _, remedies = check(QWEN2_7B, 80)

    assert any("train a LoRA adapter" in remedy.describe() for remedy in remedies)
    assert any("with grpo.sharding fsdp" in remedy.describe() for remedy in remedies)


def test_adapter_gets_smaller_micro_batches_of_the_same_batch() -> None:
    grpo = GrpoConfig(lora=BaseLoraConfig(), per_device_train_batch_size=32, max_completion_length=1024)
    memory, remedies = check(QWEN2_1_5B, 80, grpo)
    [batch] = [remedy for remedy in remedies if "per_device_train_batch_size" in remedy.describe()]

    assert not memory.fits
    assert int(batch.values["batch"]) * int(batch.values["steps"]) == 32
    assert any(remedy.template == SHORTER for remedy in remedies)


def test_vllm_that_stays_awake_can_sleep() -> None:
    grpo = GrpoConfig(gradient_checkpointing=True, vllm=GrpoVllmConfig(gpu_memory_utilization=0.45))
    memory, remedies = check(QWEN2_1_5B, 60, grpo)

    assert not memory.fits and SLEEP in [remedy.template for remedy in remedies]
    asleep = replace(grpo, vllm=GrpoVllmConfig(gpu_memory_utilization=0.45, sleep=True))
    assert SLEEP not in [remedy.template for remedy in check(QWEN2_1_5B, 60, asleep)[1]]


@pytest.mark.parametrize("gb", [8, 24])
def test_model_that_is_too_large_gets_no_change(gb: int) -> None:
    memory, remedies = check(QWEN2_7B, gb)

    assert remedies == [] and with_remedies(memory, remedies).reason.endswith(f": {NONE_FITS}")


def test_run_that_fits_has_no_reason() -> None:
    memory, _ = check(QWEN2_1_5B, 141)

    assert memory.fits and memory.reason == ""
