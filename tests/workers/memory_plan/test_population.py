"""The members that answer together, and the plan of a run that starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.workers.memory_plan.sizes import QWEN2_1_5B, QWEN2_7B, sizes_of
from workers.config import EsConfig
from workers.memory_plan import CardTooSmall, MemoryPlan, batch_members, members_at_once, plan_new_run

FULL = EsConfig(max_new_tokens=1024, prompts=200, population=30)
LOW_RANK = replace(FULL, noise="low_rank")
CARD = 141 * 10**9


def start(config: dict[str, Any], es: EsConfig, card: int = CARD, engines: int = 1) -> MemoryPlan:
    """Return the plan of a run with 200 prompts an iteration, of up to 512 tokens."""
    return plan_new_run(sizes_of(config), es, prompts=200, longest_prompt=512, card=card, engines=engines)


@pytest.mark.parametrize(("engines", "members"), [(1, 30), (4, 8), (30, 1), (64, 1)])
def test_batch_members_are_the_share_of_an_engine(engines: int, members: int) -> None:
    assert start(QWEN2_1_5B, LOW_RANK, engines=engines).members == members


def test_batch_members_are_those_whose_prompts_fit_the_rows_when_nothing_is_refilled() -> None:
    made = start(QWEN2_1_5B, replace(LOW_RANK, refill=False))

    assert (made.rows, made.members) == (2048, 2048 // 200)


def test_batch_members_are_the_lanes_when_nothing_is_refilled_with_full_noise() -> None:
    assert start(QWEN2_1_5B, replace(FULL, refill=False)).members == 3


def test_batch_members_of_a_large_population_are_those_that_fit() -> None:
    large, sizes = replace(LOW_RANK, population=10_000), sizes_of(QWEN2_7B)

    assert start(QWEN2_7B, large).members == members_at_once(sizes, large, CARD) < 10_000


@pytest.mark.parametrize("es", [FULL, LOW_RANK, replace(FULL, refill=False), replace(LOW_RANK, refill=False)])
def test_plan_of_a_new_run_is_the_plan_of_its_stored_rows(es: EsConfig) -> None:
    made, sizes = start(QWEN2_1_5B, es), sizes_of(QWEN2_1_5B)

    assert made.members == batch_members(sizes, es, rows=made.rows, prompts=200, card=CARD, engines=1)
    assert made.planned <= made.most


def test_plan_of_a_new_run_raises_card_too_small() -> None:
    with pytest.raises(CardTooSmall, match="of 40 GB"):
        start(QWEN2_7B, replace(LOW_RANK, refill=False), 40 * 10**9)
