"""RunConfig.grpo as TRL's own config: names are passed unchanged, and options unknown to TRL are refused first."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import trl

from tests.cases import each_case
from workers.config import ConfigError, GrpoConfig, RunConfig, presets
from workers.engines.grpo.arguments import NOT_PASSED, SETTING_NAMES, arguments, prompts_needed
from workers.models import Loaded


def run_config(**grpo: Any) -> RunConfig:
    return RunConfig.from_json({"method": "grpo", "seed": 5, "grpo": grpo})


def problems(loaded: Loaded, directory: Path, **grpo: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        arguments(run_config(**grpo), loaded, directory)
    return [str(problem) for problem in caught.value.problems]


def test_every_setting_has_name_of_trl() -> None:
    fields = {f.name for f in dataclasses.fields(trl.GRPOConfig)}

    assert set(SETTING_NAMES) - set(NOT_PASSED) <= fields


def test_settings_and_extra_reach_trl_unchanged(micro: Loaded, tmp_path: Path) -> None:
    args = arguments(
        run_config(learning_rate=3e-5, beta=0.04, temperature=0.7, epsilon=0.3, extra={"epsilon_high": 0.28}),
        micro,
        tmp_path,
    )

    seen = (args.learning_rate, args.beta, args.temperature, args.epsilon, args.epsilon_high)
    assert seen == (3e-5, 0.04, 0.7, 0.3, 0.28)


@each_case("name", [n for n, p in presets().items() if p.config["method"] == "grpo"])
def test_every_preset_is_taken_by_the_installed_trl(name: str, micro: Loaded, tmp_path: Path) -> None:
    config = RunConfig.from_json(presets()[name].config)
    # This process stands for all processes of the preset.
    grpo = config.to_json()["grpo"]
    grpo["gradient_accumulation_steps"] *= config.processes
    alone = RunConfig.from_json({**config.to_json(), "grpo": grpo | {"sharding": "none"}, "compute": {}})

    assert arguments(alone, micro, tmp_path).max_steps == config.steps


def test_a_cpu_trains_in_float32_without_files_of_the_trainers_own(micro: Loaded, tmp_path: Path) -> None:
    args = arguments(run_config(), micro, tmp_path)

    assert (args.use_cpu, args.bf16, args.fp16, args.gradient_checkpointing) == (True, False, False, False)
    assert (args.report_to, args.save_strategy, args.output_dir, args.seed) == ([], "no", str(tmp_path), 5)


def test_defaults_can_be_overridden_by_extra(micro: Loaded, tmp_path: Path) -> None:
    args = arguments(run_config(extra={"logging_steps": 5, "activation_checkpointing": True}), micro, tmp_path)

    assert (args.logging_steps, args.gradient_checkpointing) == (5, True)


def test_a_mistyped_extra_is_refused_with_near_names_and_their_number(micro: Loaded, tmp_path: Path) -> None:
    (problem,) = problems(micro, tmp_path, extra={"steps_per_generations": 2})

    assert problem.startswith("grpo.extra.steps_per_generations: is not a field of trl.GRPOConfig in TRL ")
    assert "did you mean steps_per_generation" in problem
    assert "fields can be set here" in problem


def test_all_problems_of_extra_are_reported_together(micro: Loaded, tmp_path: Path) -> None:
    messages = problems(micro, tmp_path, extra={"beta": 0.1, "seed": 1, "gradient_checkpointing": True, "zzz": 1})

    assert messages[:3] == [
        "grpo.extra.beta: is a separate setting: set grpo.beta",
        "grpo.extra.seed: follows from the rest of the config and cannot be set here",
        "grpo.extra.gradient_checkpointing: is a separate setting: set grpo.gradient_checkpointing",
    ]
    assert messages[3].startswith("grpo.extra.zzz: is not a field")


def test_refusal_of_trl_is_a_config_problem(micro: Loaded, tmp_path: Path) -> None:
    (problem,) = problems(micro, tmp_path, extra={"generation_batch_size": 9})

    assert "generation_batch_size (9) must be divisible" in problem


def test_a_run_of_another_method_has_no_arguments(micro: Loaded, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the method is es"):
        arguments(RunConfig.from_json({"method": "es", "es": {}}), micro, tmp_path)


@pytest.mark.parametrize(
    ("grpo", "prompts"),
    [
        ({"max_steps": 10, "per_device_train_batch_size": 64, "num_generations": 8}, 10 * 8),
        ({"max_steps": 10, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 4}, 10 * 4),
        # Completions used twice are drawn half as often.
        ({"max_steps": 10, "per_device_train_batch_size": 16, "num_iterations": 2}, 5 * 2),
        ({"max_steps": 3, "per_device_train_batch_size": 8, "extra": {"steps_per_generation": 2}}, 2 * 2),
    ],
)
def test_run_needs_one_prompt_per_group(grpo: dict[str, Any], prompts: int, micro: Loaded, tmp_path: Path) -> None:
    assert prompts_needed(arguments(run_config(**grpo), micro, tmp_path)) == prompts


def test_defaults_differ_from_trl_in_three_fields() -> None:
    ours = {name: getattr(GrpoConfig(), name) for name in SETTING_NAMES if name not in NOT_PASSED}
    defaults = {f.name: f.default for f in dataclasses.fields(trl.GRPOConfig)}

    differing = {name for name, value in ours.items() if value != defaults[name]}
    assert differing == {"max_steps", "lr_scheduler_type", "max_completion_length"}
