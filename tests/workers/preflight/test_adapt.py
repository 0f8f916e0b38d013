"""A config is adapted to less hardware; GRPO keeps its batch, and every change names its effect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from workers.config import RunConfig, preset
from workers.preflight.adapt import (
    CHECKPOINTING,
    ES_TOO_LARGE,
    FIXED_GENERATION,
    LORA,
    LORA_TOO_LARGE,
    NO_GPUS,
    REASONS,
    WHOLE_ADAPTER,
    CannotAdapt,
    adapt,
)

GRPO_PRESETS = ("grpo-conciseness-paper", "grpo-countdown-paper", "grpo-safety-paper")


def config_of(name: str, **sections: dict[str, Any]) -> RunConfig:
    """Return a preset's config with these values of its sections."""
    data = RunConfig.from_json(preset(name).config).to_json()
    return RunConfig.from_json(data | {key: data[key] | values for key, values in sections.items()})


def batch_of(config: RunConfig) -> int:
    assert config.grpo is not None
    return config.grpo.per_device_train_batch_size * config.grpo.gradient_accumulation_steps * config.processes


def changed_paths(name: str, **hardware: Any) -> list[str]:
    """Return the settings that change for this hardware; adapting the result again changes nothing."""
    adapted, changes = adapt(config_of(name), needs=preset(name).needs, **hardware)
    assert adapt(adapted, needs=preset(name).needs, **hardware) == (adapted, [])
    assert all(change.why in REASONS for change in changes)
    return [change.path for change in changes]


@pytest.mark.parametrize("name", [*GRPO_PRESETS, "es-conciseness-paper", "es-countdown-paper", "es-safety-paper"])
def test_published_hardware_changes_nothing(name: str) -> None:
    assert changed_paths(name, gpus=4, card_gb=preset(name).needs.gpu_memory_gb) == []
    assert changed_paths(name, gpus=8, card_gb=141, nodes=2) == []


@each_case("name", GRPO_PRESETS)
@each_case("gpus", [1, 2, 3])
def test_fewer_gpus_keep_the_batch_of_grpo(name: str, gpus: int) -> None:
    before = config_of(name)
    after, _ = adapt(before, gpus=gpus)

    assert (after.compute.gpus, after.processes) == (gpus, gpus)
    assert batch_of(after) == batch_of(before) == 60
    assert after.grpo is not None and after.grpo.sharding == ("none" if gpus == 1 else "fsdp")


def test_gpus_that_cannot_keep_the_batch_stay_unused() -> None:
    before = config_of("grpo-conciseness-paper", compute={"gpus": 8}, grpo={"gradient_accumulation_steps": 15})
    after, _ = adapt(before, gpus=7)

    assert (after.compute.gpus, batch_of(after)) == (6, batch_of(before))


def test_fewer_nodes_keep_the_batch_of_grpo() -> None:
    before = config_of("grpo-conciseness-paper", compute={"nodes": 2})
    after, changes = adapt(before, gpus=4, nodes=1)

    assert (after.compute.nodes, batch_of(after)) == (1, batch_of(before))
    assert [change.path for change in changes] == ["compute.nodes", "grpo.gradient_accumulation_steps"]


def test_fewer_gpus_change_nothing_else_of_es() -> None:
    adapted, changes = adapt(config_of("es-conciseness-paper"), gpus=1, card_gb=80)

    assert [(change.path, change.before, change.after) for change in changes] == [("compute.gpus", 4, 1)]
    assert adapted.es == config_of("es-conciseness-paper").es


def test_explicit_engines_follow_the_gpus() -> None:
    adapted, _ = adapt(config_of("es-conciseness-paper", es={"engines": 4}), gpus=2)

    assert adapted.es is not None and adapted.es.engines == 0


def test_smaller_gpus_recompute_activations_before_they_train_lora() -> None:
    assert changed_paths("grpo-countdown-paper", gpus=4, card_gb=24) == ["grpo.gradient_checkpointing"]
    adapted, changes = adapt(
        config_of("grpo-conciseness-paper"), gpus=4, card_gb=64, needs=preset("grpo-conciseness-paper").needs
    )

    assert [(change.path, change.why) for change in changes] == [
        ("grpo.gradient_checkpointing", CHECKPOINTING), ("grpo.lora", LORA),
        ("grpo.sharding", WHOLE_ADAPTER),
    ]  # fmt: skip
    assert adapted.grpo is not None and adapted.grpo.lora is not None
    assert [(change.before_text, change.after_text) for change in changes[:2]] == [
        ("false", "true"), ("null", f"rank 8, alpha 16.0, targets {' '.join(adapted.grpo.lora.targets)}"),
    ]  # fmt: skip


def test_fewer_gpus_hold_more_of_the_training_state_each() -> None:
    assert "grpo.lora" not in changed_paths("grpo-safety-paper", gpus=4, card_gb=80)
    assert "grpo.lora" in changed_paths("grpo-safety-paper", gpus=1, card_gb=80)


def test_smaller_gpus_have_fewer_rows_of_es() -> None:
    needs = preset("es-countdown-paper").needs
    adapted, _ = adapt(config_of("es-countdown-paper", es={"rows": 1024}), gpus=4, card_gb=40, needs=needs)

    assert adapted.es is not None and adapted.es.rows == 512


def test_fewer_cores_and_another_type_are_changes() -> None:
    config = config_of("es-countdown-paper", compute={"gpu_type": "h100"})
    adapted, changes = adapt(config, gpus=4, cores=8, has_gpu_type=False)

    assert (adapted.compute.cores, adapted.compute.gpu_type) == (8, "")
    assert [change.path for change in changes] == ["compute.cores", "compute.gpu_type"]


@pytest.mark.parametrize(
    ("name", "gpus", "card_gb", "template"),
    [
        ("es-conciseness-paper", 0, None, NO_GPUS),
        ("es-conciseness-paper", 4, 40, ES_TOO_LARGE),
        ("grpo-conciseness-paper", 4, 40, LORA_TOO_LARGE),
    ],
)
def test_hardware_that_no_change_fits_is_refused(name: str, gpus: int, card_gb: float | None, template: str) -> None:
    with pytest.raises(CannotAdapt) as refused:
        adapt(config_of(name), gpus=gpus, card_gb=card_gb, needs=preset(name).needs)
    assert refused.value.template == template and "%(" not in str(refused.value)


def test_explicit_steps_per_generation_are_refused() -> None:
    with pytest.raises(CannotAdapt) as refused:
        adapt(config_of("grpo-conciseness-paper", grpo={"extra": {"steps_per_generation": 15}}), gpus=2)
    assert refused.value.template == FIXED_GENERATION


def test_share_of_a_gpu_stays_and_counts_as_so_much_memory() -> None:
    config, needs = config_of("es-conciseness-paper", compute={"gpus": 0.5}), preset("es-conciseness-paper").needs
    adapted, changes = adapt(config, gpus=8, card_gb=10**6, needs=needs)
    assert adapted.compute.gpus == 0.5 and "compute.gpus" not in [change.path for change in changes]
    with pytest.raises(CannotAdapt):
        adapt(config, gpus=8, card_gb=80, needs=needs)


def test_run_without_gpus_stays_unchanged() -> None:
    assert changed_paths("es-tiny", gpus=0) == []
