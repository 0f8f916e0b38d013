"""The plan of a GPU that engines of vLLM share: how many, where the master is, and whether the KL is measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from workers.config import EsConfig, VllmConfig
from workers.memory_plan.card import SHARE
from workers.memory_plan.vllm import ENGINE_BYTES, KL_BYTES, ROW_BYTES, Sizes, plan_memory

GB = 10**9
SMALL = Sizes(weights=3 * GB, master=6 * GB, token=28_672, vocabulary=151_936)
"""A model of 1.5 billion parameters in 16 bits."""
LARGE = Sizes(weights=15 * GB, master=30 * GB, token=57_344, vocabulary=152_064)
"""A model of 7 billion parameters in 16 bits."""
PROMPTS, TOKENS = 200, 524
ES = EsConfig(backend="vllm")


def held(sizes: Sizes, engines: int, rows: int, kv: int, *, on_host: bool, with_kl: bool) -> int:
    """Return the bytes that a GPU holds with this plan."""
    engine = sizes.weights + (0 if on_host else sizes.master) + ENGINE_BYTES + ROW_BYTES * rows * sizes.vocabulary + kv
    return engines * engine + (2 * sizes.weights + KL_BYTES if with_kl else 0)


@pytest.mark.parametrize(
    ("sizes", "card", "engines", "on_host", "with_kl"),
    [
        (SMALL, 80 * GB, 3, False, True),
        (SMALL, 141 * GB, 3, False, True),
        (SMALL, 40 * GB, 2, False, True),
        (LARGE, 141 * GB, 1, False, True),
        (LARGE, 80 * GB, 1, False, False),
        (LARGE, 48 * GB, 2, True, False),
    ],
)
def test_plan_uses_what_card_has(sizes: Sizes, card: int, engines: int, on_host: bool, with_kl: bool) -> None:
    plan = plan_memory(sizes, ES, card=card, per_gpu=0, prompts=PROMPTS, context_tokens=TOKENS)

    assert (plan.engines, plan.master_on_host, plan.with_kl) == (engines, on_host, with_kl)
    assert plan.rows == PROMPTS
    total = held(sizes, engines, plan.rows, plan.kv_cache_bytes, on_host=on_host, with_kl=with_kl)
    assert total == plan.needed <= plan.usable == int(SHARE * card)


def test_keys_and_values_are_bounded_by_need() -> None:
    plan = plan_memory(SMALL, ES, card=1000 * GB, per_gpu=1, prompts=PROMPTS, context_tokens=TOKENS)

    assert PROMPTS * TOKENS * SMALL.token <= plan.kv_cache_bytes <= 1.1 * PROMPTS * TOKENS * SMALL.token


@pytest.mark.parametrize(("master", "on_host"), [("host", True), ("gpu", False)])
def test_config_places_master(master: str, on_host: bool) -> None:
    es = replace(ES, vllm=VllmConfig(master=master))  # type: ignore[arg-type]

    assert plan_memory(SMALL, es, card=80 * GB, per_gpu=1, prompts=9, context_tokens=99).master_on_host is on_host


def test_config_sets_keys_and_values() -> None:
    es = replace(ES, vllm=VllmConfig(kv_cache_gb=2.5))

    assert plan_memory(SMALL, es, card=80 * GB, per_gpu=0, prompts=9, context_tokens=99).kv_cache_bytes == 25 * GB // 10


def test_gpus_that_share_an_engine_need_less_each() -> None:
    two = replace(ES, vllm=VllmConfig(tensor_parallel=2, master="gpu"))
    one = replace(ES, vllm=VllmConfig(master="gpu"))

    assert not plan_memory(LARGE, one, card=45 * GB, per_gpu=0, prompts=9, context_tokens=99).fits
    assert plan_memory(LARGE, two, card=45 * GB, per_gpu=0, prompts=9, context_tokens=99).engines == 1


@pytest.mark.parametrize("per_gpu", [0, 2])
def test_card_that_is_too_small_is_refused_with_numbers(per_gpu: int) -> None:
    plan = plan_memory(LARGE, ES, card=16 * GB, per_gpu=per_gpu, prompts=PROMPTS, context_tokens=TOKENS)

    assert plan.engines == 0
    assert re.search(rf"need at least {plan.needed_gb:.1f} GB; here are 14\.7 GB\. .*tensor_parallel", plan.reason)


def test_anchor_takes_memory_of_gpu() -> None:
    plan = plan_memory(SMALL, ES, card=40 * GB, per_gpu=1, prompts=PROMPTS, context_tokens=TOKENS)
    anchored = plan_memory(
        SMALL, replace(ES, anchor_decay=1.0), card=40 * GB, per_gpu=1, prompts=PROMPTS, context_tokens=TOKENS
    )

    assert plan.with_kl
    assert anchored.kv_cache_bytes <= plan.kv_cache_bytes
