"""A config is refused with all its problems together, each naming the valid choices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.config import ConfigError, RunConfig, presets

ES = {"method": "es", "es": {}}


def problems(data: object) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        RunConfig.from_json(data)
    return {p.path: p.message for p in caught.value.problems}


def test_config_has_defaults_of_the_paper() -> None:
    es = RunConfig.from_json(ES).es
    assert es is not None
    assert (es.population, es.sigma, es.alpha, es.shaping) == (30, 1e-3, 5e-4, "z_score")


def test_config_round_trips_through_json() -> None:
    for preset in presets().values():
        config = RunConfig.from_json(preset.config)
        assert RunConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_renamed_choice_is_read_by_old_name() -> None:
    stored = {"method": "es", "es": {"backend": "hf"}}
    assert RunConfig.from_json(stored).es_section().backend == "native"
    with pytest.raises(
        ConfigError, match=r"es\.backend: must be one of native, transformers, vllm, adapter_server, not 'vlllm'"
    ):
        RunConfig.from_json({"method": "es", "es": {"backend": "vlllm"}})


def test_all_problems_are_reported_together() -> None:
    by_path = problems({"method": "es", "es": {"sigma": -1, "popultion": 3}, "model": {"dtype": "int4"}, "sead": 1})
    assert by_path.keys() == {"es.sigma", "es.popultion", "model.dtype", "sead"}


@each_case(
    ("change", "path", "words"),
    [
        ({"es": {"popultion": 3}}, "es.popultion", ["did you mean population?", "sigma"]),
        ({"method": "ppo"}, "method", ["es, grpo", "'ppo'"]),
        ({"task": {"name": "chess"}}, "task.name", ["conciseness, countdown, math, choice, safety, own", "'chess'"]),
        ({"task": {"name": "countdown", "options": {"file": "x"}}}, "task.options.file", ["train_file"]),
        ({"task": {"name": "countdown", "options": {"train_problems": 0}}}, "task.options.train_problems", ["least 1"]),
        ({"task": {"name": "own"}}, "task.options.path", ["missing"]),
        ({"task": {"name": "own", "options": {"path": "my_task"}}}, "task.options.path", ["module:attribute", "Task"]),
        ({"task": {"name": "own", "options": {"path": "../x:Task"}}}, "task.options.path", ["module:attribute"]),
        ({"task": {"name": "own", "options": {"path": "a:b", "options": []}}}, "task.options.options", ["an object"]),
        ({"task": {"reward_seconds": 0}}, "task.reward_seconds", ["above 0"]),
        ({"task": {"options": {"file": "x"}}}, "task.options.file", ["train_file", "eval_file"]),
        ({"es": {"sigma": float("nan")}}, "es.sigma", ["finite"]),
        ({"es": {"sigma": 0}}, "es.sigma", ["above 0"]),
        ({"es": {"population": 3.5}}, "es.population", ["whole number"]),
        ({"es": {"population": True}}, "es.population", ["whole number"]),
        ({"es": {"antithetic": "yes"}}, "es.antithetic", ["true or false"]),
        ({"es": {"antithetic": True, "population": 7}}, "es.population", ["even"]),
        ({"es": None}, "es", ["missing"]),
        ({"grpo": {}}, "grpo", ["cannot be set", "es"]),
        ({"schema": 99}, "schema", ["at most 1"]),
        ({"model": []}, "model", ["object", "path"]),
        ({"es": {"lora": {"targets": [1]}}}, "es.lora.targets", ["list of text"]),
        ({"compute": {"cores": 0}}, "compute.cores", ["at least 1"]),
    ],
)
def test_problem_names_valid_choices(change: dict[str, object], path: str, words: list[str]) -> None:
    message = problems(ES | change)[path]
    assert all(word in message for word in words), message


def own(options: object) -> dict[str, object]:
    return ES | {"task": {"name": "own", "options": {"path": "a:b", "options": options}}}


def test_options_of_own_task_are_unchanged() -> None:
    options = {"words": ["a", {"b": None}], "ü": "\\u0000", "n": 1.5, "yes": True}
    config = RunConfig.from_json(json.loads(json.dumps(own(options))))
    assert config.task.options.options == options
    assert RunConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"a": [{"b": float("nan")}]}, "finite numbers"),
        ({"a": float("-inf")}, "finite numbers"),
        ({"a": {"b": "\x00"}}, "without null characters"),
        ({"\x00": 1}, "without null characters"),
        ({"a": "\ud800"}, "without lone surrogates"),
    ],
)
def test_option_that_json_or_database_cannot_hold_is_refused(options: object, words: str) -> None:
    assert words in problems(own(options))["task.options.options"]


def test_text_that_database_cannot_hold_is_refused() -> None:
    assert "null" in problems(ES | {"model": {"path": "ti\x00ny"}})["model.path"]
    assert "surrogates" in problems(ES | {"model": {"path": "\udfff"}})["model.path"]


def test_groups_must_fill_the_batch() -> None:
    message = problems({"method": "grpo", "grpo": {"num_generations": 7}})["grpo.num_generations"]
    assert "8" in message


def test_config_that_is_no_object_is_refused_with_keys() -> None:
    assert "method" in problems([1, 2])[""]


def test_file_that_is_not_json_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"run\.json"):
        RunConfig.read(path)
