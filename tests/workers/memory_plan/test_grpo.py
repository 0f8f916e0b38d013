"""The memory of a GRPO run: sums of a small model computed by hand, and how they change with the settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.memory_plan.sizes import QWEN2_1_5B, QWEN2_7B, QWEN2_TINY, sizes_of
from workers.config import EvaluationConfig, GrpoConfig
from workers.config.es import BaseLoraConfig
from workers.config.grpo import GrpoVllmConfig
from workers.memory_plan import CardPlan, ModelSizes, evaluation_bytes, plan_grpo
from workers.memory_plan.card import CONTEXT_BYTES
from workers.memory_plan.grpo import NCCL_BYTES, STATE, describe_need, gb_text
from workers.memory_plan.grpo_parts import adapter_numbers, layer_activation_bytes
from workers.memory_plan.plan import GRAPH_BYTES, LOGITS_BYTES

SMALL = ModelSizes(
    layers=2, hidden=8, inner=16, heads=2, kv_heads=1, head_dim=4, vocabulary=32, is_tied=True, number_bytes=2
)
"""P = 32 · 8 + 2 · (8 · 16 + 8 · 8 + 3 · 8 · 16) = 256 + 2 · 576 = 1408."""
P = 1408
GRPO = GrpoConfig(
    num_generations=2, per_device_train_batch_size=2, gradient_accumulation_steps=3, max_completion_length=6
)
EVALUATION = EvaluationConfig()
ADAPTER = replace(GRPO, lora=BaseLoraConfig(rank=2))


def plan(sizes: ModelSizes = SMALL, grpo: GrpoConfig = GRPO, world: int = 1, gb: float = 141) -> CardPlan:
    """Return the plan with prompts of up to 10 tokens."""
    return plan_grpo(sizes, grpo, EVALUATION, world=world, per_gpu_card=int(gb * 1e9), prompt_tokens=10)


def plan_usual(config: dict[str, Any], grpo: GrpoConfig, world: int = 1, gb: float = 141) -> CardPlan:
    """Return the plan of a published model in bfloat16, with prompts of up to 512 tokens."""
    return plan_grpo(
        sizes_of(config), grpo, EVALUATION, world=world, per_gpu_card=int(gb * 1e9), prompt_tokens=512
    )  # fmt: skip


def state_of(plan: CardPlan) -> int:
    """Return the bytes that are held in all phases."""
    return sum(plan.parts[name] for name in STATE)


def staying(plan: CardPlan) -> int:
    """Return the bytes of a small model's evaluations that are held in all phases."""
    return plan.parts["centre"] + plan.parts["evaluation"] - LOGITS_BYTES


def test_parts_of_full_training_are_those_computed_by_hand() -> None:
    parts = plan().parts

    assert SMALL.parameters == P
    assert (parts["master"], parts["gradients"], parts["optimizer"]) == (4 * P, 4 * P, 8 * P)
    assert (parts["frozen"], parts["reference"], parts["gathered"], parts["saving"], parts["vllm"]) == (0, 0, 0, 0, 0)
    assert parts["casts"] == 2 * 2 * 576
    assert parts["generating"] == 2 * (2 * 576 + 256) == 2 * P
    # Norms 16 · 8 + 2 · 4, inputs of five products 5 · 2 · 8, attention 4 · 2 · 8 + 4 · 2 + 2 · 16, MLP 4 · 2 · 16.
    assert layer_activation_bytes(SMALL, 16, is_lora=False) == 136 + 80 + 104 + 128 == 448
    assert parts["activations"] == 2 * 16 * 3 * 448
    # One tile of 12 tokens and of the weights, 32 columns each; hidden states and their gradients; the weights' one.
    assert parts["head"] == (12 + 8) * 32 * 2 + 2 * 4 * 12 * 8 + 4 * 256
    # 2 · 3 rows of 16 tokens: keys and values of two layers and a copied one, and one repeated for two heads.
    assert parts["cache"] == 6 * 16 * 2 * (3 * 4 + 8) * 2
    # The prompts' activations outweigh 16 · 32 bytes of logits.
    assert parts["sampling"] == 6 * 10 * (3 * 8 + 16 + 2 * 8 + 3 * 16) * 2
    assert parts["centre"] == 2 * 2 * P
    assert parts["evaluation"] == evaluation_bytes(SMALL, EVALUATION, longest_prompt=10, max_new_tokens=6)
    assert parts["workspace"] == GRAPH_BYTES


def test_phases_are_sums_of_parts() -> None:
    memory = plan()
    parts, phases, state = memory.parts, memory.phases, 12 * P + GRAPH_BYTES
    held = state + staying(memory)

    assert phases["generation"] == held + parts["generating"] + parts["cache"] + parts["sampling"]
    # Three accumulation steps: from the second one on, the gradients are there in the forward pass.
    assert phases["update"] == held + parts["gradients"] + parts["casts"] + parts["activations"] + parts["head"]
    assert phases["evaluation"] == state + parts["centre"] + parts["evaluation"]
    assert phases["checkpoint"] == held
    assert memory.needed == max(phases.values())
    assert memory.usable == int(0.92 * 141e9) - CONTEXT_BYTES


def test_single_micro_batch_has_activations_before_gradients() -> None:
    memory = plan(grpo=replace(GRPO, gradient_accumulation_steps=1))
    parts, state = memory.parts, 12 * P + GRAPH_BYTES + staying(memory)
    untied = plan_usual(QWEN2_7B, GrpoConfig(gradient_checkpointing=True))
    tied = plan_usual(QWEN2_1_5B, GrpoConfig(gradient_checkpointing=True, per_device_train_batch_size=1))

    assert memory.phases["update"] == state + parts["casts"] + parts["activations"] + parts["head"]
    # With checkpointing, all gradients at the end of the backward pass are more; a tied embedding has one of its own.
    assert untied.phases["update"] == state_of(untied) + untied.parts["gradients"]
    assert tied.phases["update"] == state_of(tied) + tied.parts["gradients"] + 4 * 151936 * 1536


def test_ddp_holds_its_gradients_in_all_phases() -> None:
    alone, together = plan(), plan(world=2)
    held = together.parts["gradients"] + NCCL_BYTES

    assert together.parts["workspace"] == GRAPH_BYTES + NCCL_BYTES
    assert together.phases["generation"] == alone.phases["generation"] + held
    assert together.phases["evaluation"] == alone.phases["evaluation"] + held
    assert together.phases["update"] == alone.phases["update"] + NCCL_BYTES


def test_fsdp_divides_the_state_and_gathers_the_model() -> None:
    parts = plan(grpo=replace(GRPO, sharding="fsdp", beta=0.1), world=2).parts

    assert (parts["master"], parts["gradients"], parts["optimizer"]) == (2 * P, 2 * P, 4 * P)
    assert parts["casts"] == 0 and parts["generating"] == 2 * 2 * P
    # The largest unit is a layer of 576 numbers; its gradients are held twice.
    assert parts["gathered"] == 2 * (P + 2 * 576)
    assert parts["reference"] == P
    assert parts["centre"] == 2 * 2 * P and parts["saving"] == 4 * 256


def test_zero2_has_whole_weights_in_the_working_precision() -> None:
    parts = plan(grpo=replace(GRPO, sharding="zero2"), world=4).parts

    assert (parts["master"], parts["frozen"], parts["gradients"], parts["optimizer"]) == (P, 2 * P, P, 2 * P)
    assert parts["casts"] == parts["gathered"] == 0


def test_adapter_has_a_frozen_base_and_few_trained_numbers() -> None:
    # Rank 2 at q 8 → 8, k and v 8 → 4, o 8 → 8, gate and up 8 → 16, down 16 → 8, of two layers.
    numbers = 2 * 2 * (16 + 12 + 12 + 16 + 24 + 24 + 24)
    parts = plan(grpo=ADAPTER).parts

    assert adapter_numbers(SMALL, BaseLoraConfig(rank=2)) == numbers == 512
    assert (parts["frozen"], parts["master"], parts["gradients"], parts["optimizer"]) == (2 * P, 2048, 2048, 4096)
    assert parts["casts"] == 0 and parts["saving"] == parts["centre"] == 4 * P
    assert plan(grpo=replace(ADAPTER, beta=0.1)).parts["reference"] == 0
    assert adapter_numbers(SMALL, BaseLoraConfig(rank=2, targets=("q_proj", "other"))) == 2 * 2 * 16


def test_reference_of_the_training_serves_evaluations_too() -> None:
    parts = plan(grpo=replace(GRPO, beta=0.1)).parts

    assert parts["reference"] == 2 * P and parts["centre"] == 2 * P


def test_float32_model_is_evaluated_in_a_copy() -> None:
    parts = plan(replace(SMALL, number_bytes=4)).parts

    assert parts["casts"] == parts["generating"] == 0 and parts["centre"] == 2 * 4 * P
    assert plan(replace(SMALL, number_bytes=4), replace(GRPO, beta=0.1)).parts["centre"] == 4 * P


def test_evaluations_of_a_large_model_leave_nothing_on_the_card() -> None:
    weights = 2 * sizes_of(QWEN2_1_5B).parameters
    small, large = (plan_usual(QWEN2_1_5B, GrpoConfig(), gb=gb * weights / 1e9) for gb in (50, 49.9))

    assert small.phases["checkpoint"] - large.phases["checkpoint"] == staying(small) > weights
    assert small.phases["generation"] - large.phases["generation"] == staying(small)
    assert small.phases["evaluation"] == large.phases["evaluation"]


def test_optimizer_is_that_of_extra() -> None:
    assert plan(grpo=replace(GRPO, extra={"optim": "adamw_8bit"})).parts["optimizer"] == 2 * P
    assert plan(grpo=replace(GRPO, extra={"optim": "sgd"})).parts["optimizer"] == 0


@pytest.mark.parametrize(
    ("extra", "rows"), [({}, 6), ({"steps_per_generation": 6}, 12), ({"generation_batch_size": 8}, 4)], ids=str
)
def test_rows_of_a_generation_are_those_of_trl(extra: dict[str, int], rows: int) -> None:
    parts = plan(grpo=replace(GRPO, extra=extra), world=2).parts

    assert parts["cache"] == rows * 16 * 2 * (3 * 4 + 8) * 2


def test_vllm_has_its_share_of_the_card() -> None:
    vllm = GrpoVllmConfig(gpu_memory_utilization=0.25)
    awake, asleep = (plan(grpo=replace(GRPO, vllm=replace(vllm, sleep=sleep)), gb=100) for sleep in (False, True))
    server = plan(grpo=replace(GRPO, vllm=GrpoVllmConfig(mode="server", server="http://node7:8000")))

    assert awake.parts["vllm"] == asleep.parts["vllm"] == 25 * 10**9 and server.parts["vllm"] == 0
    assert awake.parts["cache"] == awake.parts["generating"] == server.parts["cache"] == 0
    assert awake.phases["generation"] == asleep.phases["generation"]
    assert awake.phases["update"] - asleep.phases["update"] == 25 * 10**9


def test_checkpointing_stores_one_hidden_state_per_layer() -> None:
    parts = plan(grpo=replace(GRPO, gradient_checkpointing=True)).parts
    adapter = plan(grpo=replace(ADAPTER, gradient_checkpointing=True)).parts

    assert parts["activations"] == 2 * 16 * (2 * 4 * 8 + 2 * 448)
    assert adapter["activations"] == 2 * 16 * (2 * 2 * 8 + 2 * (72 + 80 + 120 + 128))


def test_7b_model_needs_more_than_its_training_state() -> None:
    memory = plan_usual(QWEN2_7B, GrpoConfig())
    parts = memory.parts

    assert parts["master"] + parts["gradients"] + parts["optimizer"] == pytest.approx(122e9, rel=0.005)
    assert not memory.fits and memory.needed > 122e9
    assert describe_need(memory) == (
        f"needs {gb_text(memory.needed)} GB; this card has 141 GB, of which 129 GB can be used"
    )  # fmt: skip


@pytest.mark.parametrize(("size", "text"), [(0, "0.0"), (9_940_000_000, "9.9"), (9_960_000_000, "10"), (10**11, "100")])
def test_sizes_in_words(size: int, text: str) -> None:
    assert gb_text(size) == text


SETTINGS = st.builds(
    GrpoConfig,
    per_device_train_batch_size=st.integers(1, 64),
    gradient_accumulation_steps=st.integers(1, 16),
    max_completion_length=st.integers(1, 4096),
    gradient_checkpointing=st.booleans(),
    beta=st.sampled_from([0.0, 0.1]),
    sharding=st.sampled_from(["none", "fsdp", "zero2"]),
)
MODELS = st.builds(sizes_of, st.sampled_from([QWEN2_TINY, QWEN2_1_5B, QWEN2_7B]), st.sampled_from([2, 4]))


@given(MODELS, SETTINGS, st.integers(2, 64), st.integers(1, 64))
def test_more_processes_never_need_more_with_fsdp(sizes: ModelSizes, grpo: GrpoConfig, world: int, more: int) -> None:
    sharded = replace(grpo, sharding="fsdp")

    assert plan(sizes, sharded, world + more).needed <= plan(sizes, sharded, world).needed


@given(MODELS, SETTINGS, st.integers(2, 16), st.integers(1, 16))
def test_adapter_never_needs_more_than_full_training(
    sizes: ModelSizes, grpo: GrpoConfig, world: int, rank: int
) -> None:  # fmt: skip
    adapter = replace(grpo, lora=BaseLoraConfig(rank=rank))

    assert plan(sizes, adapter, world).needed <= plan(sizes, grpo, world).needed


@given(MODELS, SETTINGS, st.integers(2, 16), st.integers(1, 4096))
def test_longer_completions_never_need_less(sizes: ModelSizes, grpo: GrpoConfig, world: int, more: int) -> None:
    # On a card on which no evaluation leaves anything: the evaluator writes fewer responses together, in whole rows,
    # when they are longer.
    gb = sizes.weight_bytes / 1e9
    longer = plan(sizes, replace(grpo, max_completion_length=grpo.max_completion_length + more), world, gb).phases
    phases = plan(sizes, grpo, world, gb).phases

    assert longer["generation"] >= phases["generation"] and longer["update"] >= phases["update"]
    assert longer["checkpoint"] == phases["checkpoint"]


@given(MODELS, SETTINGS)
def test_checkpointing_never_needs_more(sizes: ModelSizes, grpo: GrpoConfig) -> None:
    whole, checkpointed = (replace(grpo, gradient_checkpointing=on) for on in (False, True))

    assert plan(sizes, checkpointed, 2).needed <= plan(sizes, whole, 2).needed
