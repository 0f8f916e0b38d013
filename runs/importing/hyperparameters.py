"""Build a run's config from the settings that a file or its name states. It holds only stated settings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from runs.importing.numbers import json_number, parse_number
from runs.importing.records import UNKNOWN_SEED
from runs.ingest.storable import storable
from workers.config import ConfigField, RunConfig, config_fields
from workers.config.fields import Divisible
from workers.config.methods import TRAINING_METHODS
from workers.config.tasks import TASKS

IN_NAMES = re.compile(
    r"(?<![A-Za-z])(alpha|sigma|beta|seed|pop(?:ulation)?|iter(?:ations)?|temp(?:erature)?|lr)"
    r"[_=-]?(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
)
REMARK = re.compile(r"\([^)\n]*\)")
PRECISION = re.compile(r"(?<![A-Za-z0-9])(bf16|fp16|fp32|bfloat16|float16|float32)(?![A-Za-z0-9])")
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32", "float": "float32"}
ALIASES = {
    "pop": "population", "population_size": "population", "pop_size": "population", "lr": "learning_rate",
    "iter": "steps", "iterations": "steps", "num_iterations": "steps", "n_iterations": "steps", "max_steps": "steps",
    "max_completion_length": "longest", "max_new_tokens": "longest", "max_tokens": "longest", "temp": "temperature",
    "model_name": "model", "base_model": "model", "baseline_model_name": "model", "model_name_or_path": "model",
    "policy_model_path": "model", "dtype": "precision", "torch_dtype": "precision", "initial_seed": "seed",
    "global_seed": "seed", "base_seed": "seed", "eval_every": "eval_steps", "eval_interval": "eval_steps",
    "save_every": "save_steps",
}  # fmt: skip
"""Other spellings of a hyperparameter -> its name here."""
CONFIG_PATHS = {
    "model": "model.path", "precision": "model.dtype", "eval_steps": "evaluation.every",
    "eval_size": "evaluation.prompts",
}  # fmt: skip
METHOD_PATHS = {
    "es": {"steps": "es.iterations", "longest": "es.max_new_tokens", "save_steps": "es.checkpoint_every"},
    "grpo": {"steps": "grpo.max_steps", "longest": "grpo.max_completion_length"},
}
SETTINGS_BY_PATH: Mapping[str, ConfigField] = {
    setting.path: setting for setting in config_fields(RunConfig) if not setting.tag
}
NOT_OF_THE_RECIPE = ("seed", "seeds", "seeds_requested", "algorithm", "method", "task")
COMMON_WORDS = ("choice", "own")
"""Tasks whose names state no task in the name of a file, such as my-own-run."""
MAX_NAME_LENGTH, MAX_TEXT_LENGTH, MAX_STATED_NAME_LENGTH = 100, 500, 1_000
UNKNOWN_SECTION = "imported"
"""Config section of settings that RunConfig does not have. A config with this section cannot be launched by mistake."""


def canonical_name(name: str) -> str:
    """Return the name of a hyperparameter here: `alpha (learning rate)` -> alpha, `population_size` -> population."""
    head, bracket, rest = name[:MAX_STATED_NAME_LENGTH].rpartition(")")
    bare = (REMARK.sub("", head + bracket) + rest).strip().strip("-").replace("-", "_").replace(" ", "_").lower()
    return ALIASES.get(bare, bare)


def value_of(text: str) -> Any:
    """Convert a printed setting to its value: a number, True or False, None, or text."""
    text = text.strip().strip("'\"")
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    value = parse_number(text)
    if value is None:
        return None if text in ("None", "null") else text[:MAX_TEXT_LENGTH]
    return int(value) if re.fullmatch(r"[-+]?\d+", text) and abs(value) < 2**63 else value


def settings_from_name(name: str) -> dict[str, Any]:
    """Return the settings that the name of a file, a folder or a run states: `alpha0.0005_sigma0.001_seed0`."""
    settings = {canonical_name(match[1]): value_of(match[2]) for match in IN_NAMES.finditer(name)}
    if precision := PRECISION.search(name):
        settings["precision"] = precision[1]
    task = next((task for task in TASKS if task in _words(name) and task not in COMMON_WORDS), None)
    return settings | ({"task": task} if task else {}) | method_from_name(name)


def method_from_name(name: str) -> dict[str, str]:
    """Return the method if it trains and is a word of the name, such as {"method": "es"}; else an empty dict."""
    return next(({"method": method} for method in reversed(TRAINING_METHODS) if method in _words(name)), {})


def _words(name: str) -> list[str]:
    return re.split(r"[^a-z]+", name.lower())


def seed_of(settings: Mapping[str, Any]) -> int:
    """Return the stated seed, or UNKNOWN_SEED."""
    seed = settings.get("seed")
    return seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63 else UNKNOWN_SEED


def config_of(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config: known settings at their paths, all others under `imported`, the seed only if it is stated."""
    config: dict[str, Any] = {"schema": 1, "method": method}
    if (seed := seed_of(settings)) != UNKNOWN_SEED:
        config["seed"] = seed
    if settings.get("task") in tuple(TASKS):
        config["task"] = {"name": settings["task"]}
    for name, value in settings.items():
        if name not in NOT_OF_THE_RECIPE and value is not None and not isinstance(value, list | dict):
            path, stored_value = _locate(method, storable(name[:MAX_NAME_LENGTH]), _storable_value(value))
            _put(config, path, stored_value)
    return config


def _storable_value(value: Any) -> Any:
    """Convert a value to one that a JSON column can store."""
    if isinstance(value, str):
        return storable(value[:MAX_TEXT_LENGTH])
    converted = json_number(value)
    is_beyond = isinstance(value, int | float) and (converted is None or not math.isfinite(converted))
    return str(value)[:MAX_TEXT_LENGTH] if is_beyond and not isinstance(value, bool) else value


def _locate(method: str, name: str, value: Any) -> tuple[str, Any]:
    """Return (path, value): those of a setting of RunConfig if the value is valid, else a path under `imported`."""
    if name == "precision":
        value = DTYPES.get(str(value).removeprefix("torch."), str(value).removeprefix("torch."))
    paths = (name, CONFIG_PATHS.get(name, ""), METHOD_PATHS.get(method, {}).get(name, ""), f"{method}.{name}")
    for path in paths:
        if path in SETTINGS_BY_PATH and "." in path and (fitted := _fit(SETTINGS_BY_PATH[path], value)) is not None:
            return path, fitted
    return f"{UNKNOWN_SECTION}.{name.replace('.', '_')}", value


def _fit(setting: ConfigField, value: Any) -> Any | None:
    if isinstance(setting.bounds, Divisible):
        value = setting.bounds.plain(value)
        return None if setting.bounds.complaint(value) else value
    if setting.kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        value = float(value)
    if setting.choices:
        return value if value in setting.choices else None
    if type(value) is not setting.kind:
        return None
    bounds: Any = setting.bounds
    return None if bounds is not None and bounds.complaint(value) else value


def _put(config: dict[str, Any], path: str, value: Any) -> None:
    section, _, name = path.partition(".")
    options = config.setdefault(section, {})
    options[name] = value
