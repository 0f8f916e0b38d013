"""The plan of one engine's memory: it fits the card, and it gives up speed in a fixed order until it does."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import Any

from tests.cases import each_case
from tests.workers.memory_plan.sizes import QWEN2_1_5B, QWEN2_7B, QWEN2_TINY, sizes_of
from workers.config import EsConfig, EvaluationConfig
from workers.config.es import LoraConfig
from workers.memory_plan import CardPlan, describe_plan, evaluation_bytes, plan_memory
from workers.memory_plan import plan as plan_module
from workers.models.decoder import decoder, loop

FULL = EsConfig(max_new_tokens=1024, prompts=200)
LOW_RANK = replace(FULL, noise="low_rank")
ADAPTER = replace(FULL, lora=LoraConfig(rank=8))
EACH = each_case("es", [FULL, LOW_RANK, ADAPTER], ids=["full", "low_rank", "lora"])


def plan(config: dict[str, Any], es: EsConfig, gb: float, **changes: Any) -> CardPlan:
    """Return the plan of 30 members for 200 prompts of up to 512 tokens, on a card of so many GB."""
    sent = {"prompts": 200, "longest_prompt": 512, "card": int(gb * 1e9), "members": 30, **changes}
    return plan_memory(sizes_of(config), es, **sent)


@EACH
@each_case("gb", [24, 40, 80, 141])
def test_plan_stays_below_the_usable_memory(es: EsConfig, gb: int) -> None:
    memory_plan = plan(QWEN2_1_5B, es, gb)

    assert memory_plan.needed <= memory_plan.usable < 0.92 * gb * 1e9


def test_plan_gives_up_weight_sets_before_rows_when_the_card_is_smaller() -> None:
    sizes = [
        (memory_plan.weight_sets, memory_plan.rows)
        for memory_plan in (plan(QWEN2_1_5B, FULL, gb) for gb in (141, 80, 45, 30, 24))
    ]

    assert sizes[:4] == [(8, 1600), (5, 1000), (2, 400), (1, 200)]
    assert sizes[4][0] == 1 and 8 <= sizes[4][1] < 200


def test_plan_uses_as_many_rows_as_fit() -> None:
    memory_plan = plan(QWEN2_7B, LOW_RANK, 141)
    more = plan(QWEN2_7B, LOW_RANK, 10_000, rows=memory_plan.rows + 8)

    assert memory_plan.needed <= memory_plan.usable < more.needed
    assert memory_plan.rows % 8 == 0


def test_plan_has_one_set_of_weights_when_members_share_steps() -> None:
    assert [plan(QWEN2_1_5B, es, 141).weight_sets for es in (LOW_RANK, ADAPTER)] == [1, 1]
    assert plan(QWEN2_1_5B, LOW_RANK, 141).parts["copies"] == 0
    # The base in addition to the weights that the adapter is merged into.
    assert plan(QWEN2_1_5B, ADAPTER, 141).parts["copies"] == plan(QWEN2_1_5B, ADAPTER, 141).parts["working"]


def test_plan_has_no_more_weight_sets_than_members() -> None:
    assert plan(QWEN2_TINY, FULL, 141, members=2).weight_sets == 2


def test_plan_limits_rows_by_prompts_with_full_noise_and_by_es_rows() -> None:
    assert plan(QWEN2_TINY, FULL, 141).rows == 10 * 200
    assert plan(QWEN2_TINY, replace(FULL, rows=500), 141).rows == 2 * 200
    assert plan(QWEN2_TINY, replace(FULL, rows=100), 141).rows == 104
    assert plan(QWEN2_TINY, LOW_RANK, 141).rows == 2048
    assert plan(QWEN2_TINY, replace(LOW_RANK, rows=100), 141).rows == 104


def test_plan_keeps_stored_rows() -> None:
    assert plan(QWEN2_1_5B, LOW_RANK, 80, rows=64).rows == 64


def test_plan_has_a_reason_when_stored_rows_no_longer_fit() -> None:
    rows = plan(QWEN2_1_5B, LOW_RANK, 141).rows
    refused = plan(QWEN2_1_5B, LOW_RANK, 40, rows=rows)

    assert not refused.fits and refused.rows == rows
    assert re.search(rf"of 40 GB .* {rows} concurrent responses; at most 36\.0 GB can be used", refused.reason)


@EACH
def test_plan_of_7b_fits_cards_of_141_and_80_gb_and_no_smaller_one(es: EsConfig) -> None:
    large, small = plan(QWEN2_7B, es, 141), plan(QWEN2_7B, es, 80)

    assert large.rows > small.rows >= 64
    assert (large.weight_sets, small.weight_sets) == ((2, 1) if es is FULL else (1, 1))
    assert "Use a larger card" in plan(QWEN2_7B, es, 40).reason


def test_plan_of_a_card_that_is_too_small_is_the_smallest() -> None:
    smallest = plan(QWEN2_7B, FULL, 24)

    assert re.search(r"planned: 64\.\d of 24 GB", smallest.reason)
    assert (smallest.weight_sets, smallest.rows) == (1, 8)
    assert smallest.needed > smallest.usable


def test_plan_counts_master_working_copy_and_reference() -> None:
    memory_plan, parameters = plan(QWEN2_1_5B, FULL, 141), sizes_of(QWEN2_1_5B).parameters

    assert (memory_plan.parts["master"], memory_plan.parts["working"], memory_plan.parts["reference"]) == (
        4 * parameters,
        2 * parameters,
        2 * parameters,
    )
    assert memory_plan.parts["copies"] == (memory_plan.weight_sets - 1) * 2 * parameters > 0


def test_plan_has_no_reference_when_it_does_not_evaluate() -> None:
    memory_plan = plan(QWEN2_1_5B, FULL, 141, evaluation=0)

    assert (memory_plan.parts["reference"], memory_plan.parts["evaluation"]) == (0, 0)


def test_plan_counts_the_start_of_the_weights_and_the_base_model_of_a_kl_penalty() -> None:
    parameters = sizes_of(QWEN2_1_5B).parameters
    anchored, penalised = replace(FULL, anchor_decay=10.0), replace(FULL, kl_beta=0.1)
    adapter = replace(ADAPTER, anchor_decay=10.0)

    assert plan(QWEN2_1_5B, anchored, 141).parts["reference"] == 2 * 2 * parameters
    assert plan(QWEN2_1_5B, penalised, 141).parts["reference"] == 2 * 2 * parameters
    assert plan(QWEN2_1_5B, replace(anchored, kl_beta=0.1), 141).parts["reference"] == 3 * 2 * parameters
    assert plan(QWEN2_1_5B, penalised, 141, evaluation=0).parts["evaluation"] == plan_module.LOGITS_BYTES
    lora = plan(QWEN2_1_5B, adapter, 141)
    assert lora.parts["reference"] == 2 * parameters + lora.parts["master"]


def test_plan_counts_the_cache_of_every_slot() -> None:
    memory_plan, sizes = plan(QWEN2_1_5B, LOW_RANK, 141), sizes_of(QWEN2_1_5B)
    a_token = 2 * sizes.layers * sizes.kv_heads * sizes.head_dim * 2

    assert memory_plan.columns == 512 + 1024
    # Each member's common beginning has a slot of its own, and one is never read.
    assert memory_plan.parts["cache"] == (memory_plan.rows + 1 + 30) * memory_plan.columns * a_token


def test_plan_needs_the_sum_of_the_parts() -> None:
    memory_plan = plan(QWEN2_7B, LOW_RANK, 141)

    assert len(memory_plan.parts) == 8 and memory_plan.needed == sum(memory_plan.parts.values())


def test_describe_names_the_parts_in_gb() -> None:
    text = describe_plan(plan(QWEN2_7B, FULL, 141))

    assert text.startswith(
        "GPU memory planned: 114.3 of 141 GB (master 30.5, working 15.2, reference 15.2, copies 15.2"
    )
    assert text.endswith("30 members per batch, 400 concurrent responses with 2 sets of weights")


def test_evaluation_bytes_include_cache_and_logits() -> None:
    sizes, evaluation, token = sizes_of(QWEN2_7B), EvaluationConfig(prompts=8, samples=4), 57_344
    few = evaluation_bytes(sizes, evaluation, longest_prompt=200, max_new_tokens=512)
    # 32 answers of 712 tokens.
    assert 32 * 712 * token + 2**31 < few < 32 * 712 * token + 2**31 + 2 * 10**9
    longer = replace(evaluation, max_new_tokens=1024)
    assert evaluation_bytes(sizes, longer, longest_prompt=200, max_new_tokens=512) - few == 32 * 512 * token
    most = evaluation_bytes(sizes, replace(evaluation, prompts=10_000), longest_prompt=200, max_new_tokens=512)
    assert few < most < 3 * 2**30 + 2**31 + 3 * 10**9, "keys and values are bounded"


def test_evaluation_has_room_for_its_fixed_steps() -> None:
    """A single answer takes as many rows as many do; answers beyond these wait."""
    sizes, one = sizes_of(QWEN2_1_5B), EvaluationConfig(prompts=1, samples=0)
    rows = plan_module.EVALUATED_ROWS * 16 * sizes.vocabulary + plan_module.EVALUATED_READ_ROWS * sizes.activation_bytes
    needed = evaluation_bytes(sizes, one, longest_prompt=100, max_new_tokens=28)
    assert needed == 2**31 + plan_module.GRAPH_BYTES + rows + 3 * 128 * sizes.token_bytes
    assert plan_module.evaluated_responses(1000, 10) == plan_module.EVALUATED_ROWS
    assert plan_module.evaluated_responses(1000, plan_module.EVALUATED_BYTES // 7) == 7
    assert plan_module.evaluated_responses(1000, 2 * plan_module.EVALUATED_BYTES) == 1


def test_evaluation_is_bounded_as_the_decoder_bounds_it() -> None:
    assert plan_module.EVALUATED_BYTES == decoder.CACHE_BYTES_CUDA
    assert loop.READ_TOKENS["cuda"] == plan_module.EAGER_TOKENS
    assert inspect.signature(decoder.Decoder).parameters["rows"].default == plan_module.EAGER_ROWS
