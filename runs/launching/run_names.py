"""Default names of runs and sweeps. They state what differs from the preset, such as `es-tiny σ=0.02 seed 0`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from runs.kinds import kind_of
from runs.models import Experiment, Run
from workers.config import OwnOptions, RunConfig, config_fields, preset
from workers.config.methods import METHODS
from workers.config.resources import named_runs
from workers.config.run import AUTO

NAME_LENGTH = 200
MAX_CHANGES, MAX_CHANGES_LENGTH, MAX_VALUE_LENGTH = 3, 120, 40
SHORT_NAMES = {
    "es.sigma": "σ", "es.alpha": "α", "grpo.beta": "β", "grpo.learning_rate": "lr", "model.path": "model",
    "task.name": "task", "scorer.name": "scorer",
}  # fmt: skip
COPY = " (copy)"
OMITTED_SECTIONS = (
    *(f"{method}." for method in METHODS), "model.", "task.options.", "task.", "compute.", "tracking.",
)  # fmt: skip
LAST_SECTIONS = ("compute.", "tracking.")
"""Sections that say where and not how a run trains: their settings are the first ones that a name omits."""
GPUS_BY_DEFAULT = (0, 1, AUTO)
"""Values of compute.gpus that a launch may have chosen. No name states them unless the preset has another."""
RUN_SETTINGS = {field.path for field in config_fields(RunConfig) if field.resource in ("run", "runs")}
"""Settings that name runs. No name states them: not every reader of a name may know these runs."""


def default_run_name(config: RunConfig, preset_name: str, parent: str = "") -> str:
    """Return the preset's name or the method, the settings that differ from it, and the seed.

    parent: the name of the first run that the config names, or examines as a model; empty if it has none, or none that
    may be named. The number of further runs follows it, such as `probe es-tiny seed 0 +1`.
    """
    if (named_runs(config) or kind_of(config.method).examination) and not preset_name:
        more = len(named_runs(config)) - 1
        end = (f" +{more}" if more > 0 else "") + (f", seed {config.seed}" if config.seed else "")
        return f"{config.method} {parent or _examined_name(config)}"[: NAME_LENGTH - len(end)] + end
    return f"{_base_name(config, preset_name)} seed {config.seed}"


def parent_name(parent: Run | None, experiment: Experiment) -> str:
    """Return the name of the run that a run of this experiment measures; empty without one, and if a reader of this
    experiment may not see that run."""
    if parent is None or not parent.experiment.is_private:
        return parent.name if parent else ""
    is_seen_alike = experiment.is_private and experiment.owner_id == parent.experiment.owner_id
    return parent.name if is_seen_alike else ""


def copy_name(name: str) -> str:
    """Return the name of an unchanged clone of the run with this name. The copy of a copy has the same name."""
    return f"{name.removesuffix(COPY)[: NAME_LENGTH - len(COPY)]}{COPY}"


def default_sweep_name(config: RunConfig, preset_name: str, swept: frozenset[str]) -> str:
    """Return the name of a sweep with runs of this config, without the settings that it varies."""
    return f"{_base_name(config, preset_name, swept)} sweep"


def sweep_run_name(cell: Mapping[str, Any], seed: int, sweep_name: str) -> str:
    """Return the name of a run in a sweep. Its values come first, because the end is cut where there is little room."""
    seed_text = f" seed {seed}"
    values = ", ".join(describe_settings(cell))[: NAME_LENGTH - len(seed_text)]
    return f"{values}{seed_text} · {sweep_name}"[:NAME_LENGTH]


def describe_settings(settings: Mapping[str, Any]) -> list[str]:
    """Return each setting as a text such as σ=0.02. A path loses its section if that is unambiguous."""
    names = [_short_name(path) for path in settings]
    distinct_names = [name if names.count(name) == 1 else path for name, path in zip(names, settings, strict=True)]
    return [
        f"{name}={_shorten(format_value(value))}" for name, value in zip(distinct_names, settings.values(), strict=True)
    ]


def changed_settings(config: RunConfig, preset_name: str) -> dict[str, Any]:
    """Return path -> value of the settings that differ from the preset, or from the defaults without a preset.

    The order is that of the config, with compute and tracking at the end.
    """
    start = _start_values(preset_name)
    defaults = _default_values()
    values = dict(_leaves(config.to_json()))
    values |= {path: False for path in (f"{config.method}.lora",) if path in start and path not in values}
    ignored = {"schema", "seed", "method"} if not preset_name else {"schema", "seed"}
    if config.compute.gpus in GPUS_BY_DEFAULT and not _states_gpus(preset_name):
        ignored = {*ignored, "compute.gpus"}
    changed = {
        path: value
        for path, value in values.items()
        if path not in ignored and value != start.get(path, defaults.get(path))
    }
    return dict(sorted(changed.items(), key=lambda item: item[0].startswith(LAST_SECTIONS)))


def format_value(value: Any) -> str:
    """Return a value as text, such as a user writes it."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def _examined_name(config: RunConfig) -> str:
    """Return the task that a run examines, or else the model."""
    examination = kind_of(config.method).examination
    if examination is None or examination.setting:
        return _model_name(config)
    options = config.task.options
    return options.path.rpartition(":")[2] if isinstance(options, OwnOptions) else config.task.name


def _model_name(config: RunConfig) -> str:
    """Return the model that is measured, without its folder; "a run" for a run that may not be named."""
    if named_runs(config) or config.model.path.startswith("run:"):
        return "a run"
    return config.model.path.rpartition("/")[2]


def _base_name(config: RunConfig, preset_name: str, omitted: frozenset[str] = frozenset()) -> str:
    omitted |= RUN_SETTINGS
    changed = {k: v for k, v in changed_settings(config, preset_name).items() if k not in omitted}
    described = describe_settings(changed)
    shown = described[:MAX_CHANGES]
    while len(shown) > 1 and len(", ".join(shown)) > MAX_CHANGES_LENGTH:
        shown.pop()
    more = len(described) - len(shown)
    return " ".join(
        [preset_name or config.method, *([", ".join(shown)] if shown else []), *([f"+{more}"] if more else [])]
    )


@cache
def _states_gpus(preset_name: str) -> bool:
    return bool(preset_name) and "gpus" in preset(preset_name).config.get("compute", {})


@cache
def _start_values(preset_name: str) -> dict[str, Any]:
    return dict(_leaves(RunConfig.from_json(preset(preset_name).config).to_json())) if preset_name else {}


@cache
def _default_values() -> dict[str, Any]:
    return {setting.path: setting.default for setting in config_fields(RunConfig)}


def _leaves(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of every setting. A lora section is also a setting of its own: true."""
    for key, value in section.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            if key == "lora":
                yield path, True
            yield from _leaves(value, f"{path}.")
        elif not (key == "lora" and value is None):
            yield path, value


def _short_name(path: str) -> str:
    if path in SHORT_NAMES:
        return SHORT_NAMES[path]
    section = next((section for section in OMITTED_SECTIONS if path.startswith(section)), "")
    return path.removeprefix(section)


def _shorten(text: str) -> str:
    """Return the end of a long text: paths differ at their ends."""
    return text if len(text) <= MAX_VALUE_LENGTH else f"…{text[1 - MAX_VALUE_LENGTH :]}"
