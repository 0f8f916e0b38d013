"""Presets of the papers have the published values, and say what they need and where they differ."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from workers.config import PresetNeeds, RunConfig, current_name, preset, presets
from workers.config.presets import FORMER_NAMES

PUBLISHED = [name for name, known in presets().items() if known.needs.gpus]
SMALL = [name for name, known in presets().items() if known.needs.parameters_billions and not known.needs.gpus]
"""Presets of a real model that runs on one GPU, and without."""
ES = {"es.population": 30, "es.sigma": 1e-3, "es.alpha": 5e-4, "es.noise": "full", "es.shaping": "z_score"}
GRPO = {
    "grpo.num_generations": 30, "grpo.per_device_train_batch_size": 1, "grpo.gradient_accumulation_steps": 15,
    "grpo.temperature": 0.7, "grpo.top_p": 1.0, "grpo.loss_type": "grpo", "grpo.lr_scheduler_type": "constant",
    "grpo.warmup_steps": 0, "grpo.max_grad_norm": 1.0, "compute.gpus": 4, "model.dtype": "bfloat16",
}  # fmt: skip
CONCISENESS = {
    "model.path": "Qwen/Qwen2.5-7B-Instruct", "evaluation.prompts": 8, "evaluation.samples": 20,
    "evaluation.temperature": 0.7, "evaluation.max_new_tokens": 128, "evaluation.seed": 44, "evaluation.every": 50,
}  # fmt: skip
COUNTDOWN = {
    "model.path": "Qwen/Qwen2.5-1.5B-Instruct", "task.options.train_problems": 200, "evaluation.prompts": 2000,
    "evaluation.samples": 0, "evaluation.max_new_tokens": 1024, "evaluation.every": 25,
}  # fmt: skip
SAFETY = {
    "model.path": "PKU-Alignment/alpaca-7b-reproduced", "task.options.scorer": "beaver",
    "task.options.scorer_batch": 32, "task.options.conversation": True, "task.options.lambda_init": 1.0,
    "task.options.lambda_lr": 0.005, "task.options.lambda_min": 1e-4, "task.options.lambda_max": 5.0,
    "task.options.lambda_ema": 0.9, "task.options.lambda_positive_only": True, "task.options.cost_offset": 0.0,
    "evaluation.prompts": 500, "evaluation.samples": 0, "evaluation.every": 100,
}  # fmt: skip
VALUES: dict[str, dict[str, Any]] = {
    "es-conciseness-paper": ES
    | CONCISENESS
    | {"es.iterations": 1000, "es.prompts": 0, "es.max_new_tokens": 128, "es.checkpoint_every": 100},
    "grpo-conciseness-paper": GRPO
    | CONCISENESS
    | {"grpo.max_steps": 1000, "grpo.learning_rate": 5e-6, "grpo.beta": 0.0464, "grpo.max_completion_length": 128,
       "grpo.save_steps": 500},
    "es-countdown-paper": ES
    | COUNTDOWN
    | {"es.iterations": 500, "es.prompts": 0, "es.max_new_tokens": 1024, "model.dtype": "float16"},
    "grpo-countdown-paper": GRPO
    | COUNTDOWN
    | {"grpo.max_steps": 500, "grpo.learning_rate": 1e-6, "grpo.beta": 5e-3, "grpo.max_completion_length": 1024,
       "grpo.save_steps": 200},
    "es-safety-paper": ES
    | SAFETY
    | {"es.iterations": 500, "es.prompts": 64, "es.max_new_tokens": 512, "model.dtype": "float16"},
    "grpo-safety-paper": GRPO
    | SAFETY
    | {"grpo.max_steps": 500, "grpo.learning_rate": 5e-6, "grpo.beta": 0.01, "grpo.max_completion_length": 512,
       "grpo.save_steps": 100},
}  # fmt: skip


def value_at(config: RunConfig, path: str) -> Any:
    value: Any = config
    for part in path.split("."):
        value = getattr(value, part)
    return value


def test_there_is_a_published_preset_for_each_method_and_task() -> None:
    assert sorted(PUBLISHED) == sorted(VALUES)


@pytest.mark.parametrize("name", VALUES)
def test_published_values_are_set(name: str) -> None:
    config = RunConfig.from_json(preset(name).config)

    assert {path: value_at(config, path) for path in VALUES[name]} == VALUES[name]


@pytest.mark.parametrize("name", [name for name in VALUES if name.startswith("grpo")])
def test_grpo_step_has_two_prompts_of_thirty_completions(name: str) -> None:
    config = RunConfig.from_json(preset(name).config)

    assert config.grpo is not None and (config.processes, config.grpo.sharding) == (4, "fsdp")
    passes = config.grpo.per_device_train_batch_size * config.grpo.gradient_accumulation_steps
    assert passes * config.processes == 2 * config.grpo.num_generations == 60


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_preset_states_its_needs(name: str) -> None:
    selected = preset(name)
    needs, config = selected.needs, RunConfig.from_json(selected.config)

    assert (needs.gpus, needs.nodes) == (config.compute.gpus, config.compute.nodes)
    named = {config.model.path, config.task.options.train_file, config.task.options.eval_file}
    assert {file.path for file in needs.files} == named
    assert all(file.origin and file.licence and file.what.endswith(".") for file in needs.files)
    assert (needs.hours is None) == (not needs.hours_on)
    assert [service.name for service in needs.services] == (["beaver"] if config.task.name == "safety" else [])
    assert selected.notes and all(note.endswith(".") for note in selected.notes)
    assert presets()[selected.tiny_name].needs.gpus == 0


@pytest.mark.parametrize("former", FORMER_NAMES)
def test_former_name_gives_the_current_preset(former: str) -> None:
    assert former not in presets()
    assert preset(former).name == current_name(former) == former.replace("-paper", "-conciseness-paper")


@each_case("name", [name for name in presets() if name not in (*PUBLISHED, *SMALL)])
def test_other_presets_need_only_this_machine(name: str) -> None:
    assert (preset(name).needs.files, RunConfig.from_json(preset(name).config).compute.gpus) == ((), 0)


@each_case("name", SMALL)
def test_preset_of_a_small_real_model_leaves_its_gpus_to_the_launch(name: str) -> None:
    selected = preset(name)
    assert "compute" not in selected.config
    assert [file.path for file in selected.needs.files] == [selected.config["model"]["path"]]
    assert presets()[selected.tiny_name].needs == PresetNeeds()
