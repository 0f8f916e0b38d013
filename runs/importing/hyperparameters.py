"""Turn what a file or its name says of the training into a config as runs have it, which holds only what is known."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from runs.importing.numbers import number, real
from runs.importing.records import UNKNOWN_SEED
from runs.ingest.storable import storable
from workers.config import Knob, RunConfig, knobs

IN_NAMES = re.compile(
    r"(?<![A-Za-z])(alpha|sigma|beta|seed|pop(?:ulation)?|iter(?:ations)?|temp(?:erature)?|lr)"
    r"[_=-]?(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
)
PRECISION = re.compile(r"(?<![A-Za-z0-9])(bf16|fp16|fp32|bfloat16|float16|float32)(?![A-Za-z0-9])")
TASKS = ("conciseness", "countdown")
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32", "float": "float32"}
SAME = {
    "pop": "population", "population_size": "population", "pop_size": "population", "lr": "learning_rate",
    "iter": "steps", "iterations": "steps", "num_iterations": "steps", "n_iterations": "steps", "max_steps": "steps",
    "max_completion_length": "longest", "max_new_tokens": "longest", "max_tokens": "longest", "temp": "temperature",
    "model_name": "model", "base_model": "model", "baseline_model_name": "model", "model_name_or_path": "model",
    "policy_model_path": "model", "dtype": "precision", "torch_dtype": "precision", "initial_seed": "seed",
    "global_seed": "seed", "eval_every": "eval_steps", "eval_interval": "eval_steps", "save_every": "save_steps",
}  # fmt: skip
"""Spellings of one hyperparameter."""
PLACES = {
    "model": "model.path", "precision": "model.dtype", "eval_steps": "evaluation.every",
    "eval_size": "evaluation.prompts",
}  # fmt: skip
OF_METHOD = {
    "es": {"steps": "es.iterations", "longest": "es.max_new_tokens", "save_steps": "es.checkpoint_every"},
    "grpo": {"steps": "grpo.max_steps", "longest": "grpo.max_completion_length"},
}
KNOBS: Mapping[str, Knob] = {knob.path: knob for knob in knobs(RunConfig) if not knob.tag}
NOT_OF_THE_RECIPE = ("seed", "seeds", "seeds_requested", "algorithm", "method", "task")
NAME_AT_MOST, TEXT_AT_MOST = 100, 500
OTHERS = "imported"
"""The section of what has no knob of ours. No run can be launched with it, so that none is by mistake."""


def canonical(name: str) -> str:
    """`alpha (learning rate)` -> alpha, `population_size` -> population."""
    bare = re.sub(r"\(.*?\)", "", name).strip().strip("-").replace("-", "_").replace(" ", "_").lower()
    return SAME.get(bare, bare)


def value_of(text: str) -> Any:
    """A setting as printed: a number, true or false, nothing, or text."""
    text = text.strip().strip("'\"")
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    found = number(text)
    if found is None:
        return None if text in ("None", "null") else text[:TEXT_AT_MOST]
    return int(found) if re.fullmatch(r"[-+]?\d+", text) and abs(found) < 2**63 else found


def of_name(name: str) -> dict[str, Any]:
    """Return the settings that the name of a file, a folder or a run states: `alpha0.0005_sigma0.001_seed0`."""
    said = {canonical(match[1]): value_of(match[2]) for match in IN_NAMES.finditer(name)}
    if precision := PRECISION.search(name):
        said["precision"] = precision[1]
    task = next((task for task in TASKS if task in name.lower()), None)
    return said | ({"task": task} if task else {}) | method_of_name(name)


def method_of_name(name: str) -> dict[str, str]:
    """`es` or `grpo`, where a word of the name is that."""
    words = re.split(r"[^a-z]+", name.lower())
    return next(({"method": method} for method in ("grpo", "es") if method in words), {})


def seed_of(settings: Mapping[str, Any]) -> int:
    """The seed, where it is said."""
    seed = settings.get("seed")
    return seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63 else UNKNOWN_SEED


def config_of(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The config: knobs of ours in their places, everything else under `imported`. The seed only where it is said."""
    config: dict[str, Any] = {"schema": 1, "method": method}
    if (seed := seed_of(settings)) != UNKNOWN_SEED:
        config["seed"] = seed
    if settings.get("task") in TASKS:
        config["task"] = {"name": settings["task"]}
    for name, value in settings.items():
        if name not in NOT_OF_THE_RECIPE and value is not None and not isinstance(value, list | dict):
            path, kept = _placed(method, storable(name[:NAME_AT_MOST]), _keepable(value))
            _put(config, path, kept)
    return config


def _keepable(value: Any) -> Any:
    """Return the value as a JSON column can store it."""
    if isinstance(value, str):
        return storable(value[:TEXT_AT_MOST])
    known = real(value)
    is_beyond = isinstance(value, int | float) and (known is None or not math.isfinite(known))
    return str(value)[:TEXT_AT_MOST] if is_beyond and not isinstance(value, bool) else value


def _placed(method: str, name: str, value: Any) -> tuple[str, Any]:
    """(path, value): a knob's own where it fits there."""
    if name == "precision":
        value = DTYPES.get(str(value).removeprefix("torch."), str(value).removeprefix("torch."))
    paths = (name, PLACES.get(name, ""), OF_METHOD.get(method, {}).get(name, ""), f"{method}.{name}")
    for path in paths:
        if path in KNOBS and "." in path and (kept := _fitting(KNOBS[path], value)) is not None:
            return path, kept
    return f"{OTHERS}.{name.replace('.', '_')}", value


def _fitting(knob: Knob, value: Any) -> Any | None:
    if knob.kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        value = float(value)
    if knob.choices:
        return value if value in knob.choices else None
    if type(value) is not knob.kind:
        return None
    bounds: Any = knob.bounds
    return None if bounds is not None and bounds.complaint(value) else value


def _put(config: dict[str, Any], path: str, value: Any) -> None:
    section, _, name = path.partition(".")
    place = config.setdefault(section, {})
    place[name] = value
