"""Cards are planned for the engines that share them, over all nodes, as trainers plan."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs.model_files import QWEN2_7B
from tests.workers.memory_plan.sizes import QWEN2_TINY
from workers.config import RunConfig
from workers.preflight.memory import grpo_section, plan_card, plan_grpo_card, plan_vllm_card, read_sizes, share_cards


def config_of(compute: dict[str, Any], **es: Any) -> RunConfig:
    """Return a run of 200 prompts and 30 members."""
    return RunConfig.from_json({"method": "es", "es": {"prompts": 200, **es}, "compute": compute})


@pytest.mark.parametrize(
    ("compute", "engines", "expected"),
    [
        ({"gpus": 1}, 0, (1, 1)),
        ({"gpus": 4}, 0, (4, 1)),
        ({"gpus": 4, "nodes": 2}, 0, (8, 1)),
        ({"gpus": 4, "nodes": 2}, 8, (8, 1)),
        ({"gpus": 4, "nodes": 2}, 12, (12, 2)),
        ({"gpus": 1}, 3, (3, 3)),
    ],
    ids=str,
)
def test_engines_are_shared_out_over_the_gpus_of_all_nodes(
    compute: dict[str, int], engines: int, expected: tuple[int, int]
) -> None:
    assert share_cards(config_of(compute, engines=engines)) == expected


def test_members_of_eight_gpus_on_two_nodes_are_those_of_eight_on_one() -> None:
    spread = config_of({"gpus": 4, "nodes": 2}, noise="low_rank")
    together = config_of({"gpus": 8}, noise="low_rank")
    sizes = read_sizes(QWEN2_7B, together)

    assert plan_card(sizes, spread, 80) == plan_card(sizes, together, 80)
    assert plan_card(sizes, spread, 80).members == 4


def test_engines_that_share_a_card_need_more_of_it() -> None:
    sizes = read_sizes(QWEN2_7B, config_of({"gpus": 1}))
    alone, shared = (plan_card(sizes, config_of({"gpus": 1}, engines=n), 141) for n in (1, 2))

    assert alone.fits and not shared.fits and shared.engines == 2
    assert "at most" in shared.reason


def test_fraction_is_planned_for_its_part_of_the_card_and_auto_for_all_of_it() -> None:
    sizes = read_sizes(QWEN2_TINY, config_of({"gpus": 1}))
    whole, auto, quarter = (plan_card(sizes, config_of({"gpus": gpus}), 80) for gpus in (1, "auto", 0.25))

    assert auto == whole and quarter.card == whole.card
    assert quarter.usable == plan_card(sizes, config_of({"gpus": 1}), 20).usable
    assert share_cards(config_of({"gpus": 0.25})) == share_cards(config_of({"gpus": "auto"})) == (1, 1)


def test_grpo_is_planned_for_its_part_of_the_card() -> None:
    config = RunConfig.from_json({"method": "grpo", "grpo": {}, "compute": {"gpus": 0.1}})
    plan = plan_grpo_card(read_sizes(QWEN2_TINY, config), config, 80)

    assert plan.card_gb == 80 and plan.usable_gb < 8


@pytest.mark.parametrize(("gb", "fits"), [(20, False), (80, True), (141, True)])
def test_vllm_is_planned_with_its_own_arithmetic(gb: float, fits: bool) -> None:
    config = config_of({"gpus": 1}, backend="vllm")
    card = plan_vllm_card(read_sizes(QWEN2_7B, config), config, gb)

    assert card.fits == fits == (card.needed_gb <= card.usable_gb)
    assert ("float32 master" in card.summary) == fits
    assert ("need at least" in card.reason) != fits


def test_vllm_needs_at_least_the_bytes_that_its_refusal_names() -> None:
    config = config_of({"gpus": 1}, backend="vllm")
    sizes = read_sizes(QWEN2_7B, config)
    least = plan_vllm_card(sizes, config, 20).needed_gb

    assert not plan_vllm_card(sizes, config, least / 0.92 - 0.01).fits
    assert plan_vllm_card(sizes, config, least / 0.92 + 0.01).fits


@pytest.mark.parametrize(
    "change", [{"hidden_size": "wide"}, {"num_attention_heads": 0}, {"vocab_size": 10**9}], ids=str
)
def test_implausible_sizes_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="states invalid sizes"):
        read_sizes(QWEN2_TINY | change, config_of({"gpus": 1}))


def grpo_config(compute: dict[str, int], **grpo: Any) -> RunConfig:
    """Return a run of method grpo."""
    return RunConfig.from_json({"method": "grpo", "grpo": grpo, "compute": compute})


def test_grpo_is_planned_for_one_of_its_processes_on_all_nodes() -> None:
    config = grpo_config({"gpus": 4, "nodes": 2}, sharding="fsdp")
    card = plan_grpo_card(read_sizes(QWEN2_7B, config), config, 141)

    assert card.fits and card.processes == 8 and card.engines == 1
    assert (card.reason, card.remedies) == ("", ())
    assert card.needed_gb == max(card.phases_gb.values()) <= card.usable_gb
    assert sum(card.parts_gb.values()) > card.needed_gb


def test_grpo_that_does_not_fit_names_changes_that_do() -> None:
    config = grpo_config({"gpus": 1})
    card = plan_grpo_card(read_sizes(QWEN2_7B, config), config, 141)

    assert not card.fits and card.remedies
    assert card.reason.startswith(f"it needs {card.needed_gb:.0f} GB; this card has 141 GB")
    assert all(remedy.describe() in card.reason for remedy in card.remedies)


def test_es_has_no_grpo_section() -> None:
    with pytest.raises(ValueError, match="no grpo section"):
        grpo_section(config_of({"gpus": 1}))
