"""The members that answer together, and the plan of a run that starts or resumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.cases import each_case
from tests.workers.memory_plan.sizes import QWEN2_1_5B, QWEN2_7B, sizes_of
from workers.config import EsConfig
from workers.memory_plan import CardPlan, describe_plan, plan_run

FULL = EsConfig(max_new_tokens=1024, prompts=200, population=30)
LOW_RANK = replace(FULL, noise="low_rank")
FIXED, FIXED_LOW_RANK = replace(FULL, refill=False), replace(LOW_RANK, refill=False)
H200, H100 = 141 * 10**9, 80 * 10**9


def start(config: dict[str, Any], es: EsConfig, card: int = H200, engines: int = 1, **more: Any) -> CardPlan:
    """Return the plan of a run with 200 prompts an iteration, of up to 512 tokens."""
    sent = {"prompts": 200, "longest_prompt": 512, **more}
    return plan_run(sizes_of(config), es, card=card, engines=engines, **sent)


@pytest.mark.parametrize(("engines", "members"), [(1, 30), (4, 8), (30, 1), (64, 1)])
def test_batch_members_are_the_share_of_an_engine(engines: int, members: int) -> None:
    assert start(QWEN2_1_5B, LOW_RANK, engines=engines).members == members


def test_batch_members_are_those_whose_prompts_fit_the_rows_when_nothing_is_refilled() -> None:
    plan = start(QWEN2_1_5B, FIXED_LOW_RANK)

    assert (plan.rows, plan.members) == (2000, 10)


@pytest.mark.parametrize(("population", "members"), [(30, 10), (32, 8), (9, 9), (11, 6)])
def test_batches_of_full_noise_are_of_nearly_equal_size_when_nothing_is_refilled(population: int, members: int) -> None:
    assert start(QWEN2_1_5B, replace(FIXED, population=population)).members == members


@each_case("population", [64, 256, 1000, 10_000])
@each_case("card", [H100, H200])
def test_large_populations_are_cut_into_batches_that_fit(population: int, card: int) -> None:
    plan = start(QWEN2_7B, replace(LOW_RANK, population=population), card)

    assert plan.needed <= plan.usable
    assert plan.rows >= 56, describe_plan(plan)
    assert 1 < plan.members <= 64


def test_batch_keeps_more_rows_rather_than_all_members_when_memory_is_short() -> None:
    large = replace(LOW_RANK, population=256)

    assert start(QWEN2_7B, large, H100).rows > start(QWEN2_7B, large, H100, rows=8).rows == 8


@each_case("es", [FULL, LOW_RANK, FIXED, FIXED_LOW_RANK])
@each_case("card", [H100, H200])
@each_case("config", [QWEN2_1_5B, QWEN2_7B])
def test_plan_of_resumed_run_equals_first_plan(es: EsConfig, card: int, config: dict[str, Any]) -> None:
    plan = start(config, es, card)

    assert start(config, es, card, rows=plan.rows) == plan


@pytest.mark.parametrize("es", [replace(FULL, population=32), replace(LOW_RANK, population=32)])
@pytest.mark.parametrize("engines", [4, 2, 1])
def test_run_resumes_with_fewer_gpus_when_slots_are_refilled(es: EsConfig, engines: int) -> None:
    first = start(QWEN2_7B, es, H100, engines=8)
    further = start(QWEN2_7B, es, H100, engines=engines, rows=first.rows)

    assert further.needed <= further.usable
    assert 0 < further.rows <= first.rows


def test_run_resumes_on_smaller_card_only_with_refilled_slots() -> None:
    refilled, fixed = start(QWEN2_7B, LOW_RANK), start(QWEN2_7B, FIXED_LOW_RANK)

    assert start(QWEN2_7B, LOW_RANK, H100, rows=refilled.rows).rows < refilled.rows
    assert f"{fixed.rows} concurrent responses" in start(QWEN2_7B, FIXED_LOW_RANK, H100, rows=fixed.rows).reason


@pytest.mark.parametrize("prompts", [3, 5, 7])
def test_few_prompts_make_batches_of_many_members(prompts: int) -> None:
    plan = start(QWEN2_1_5B, replace(FIXED_LOW_RANK, population=1000), prompts=prompts)

    assert plan.members * prompts <= plan.rows < 2056
    assert start(QWEN2_1_5B, replace(FIXED_LOW_RANK, population=1000), prompts=prompts, rows=plan.rows) == plan


def test_new_run_does_not_fit_a_small_card() -> None:
    assert "of 40 GB" in start(QWEN2_7B, FIXED_LOW_RANK, 40 * 10**9).reason
