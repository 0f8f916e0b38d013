"""From fields to a config's JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs.forms.knob_field import written
from runs.forms.knobs import KNOBS, METHODS, OPTIONAL
from workers.config import ConfigError, Problem, RunConfig


def problems_of(config: Mapping[str, Any]) -> list[Problem]:
    """What of a stored config, made by another version, no longer fits."""
    try:
        RunConfig.from_json(config)
    except ConfigError as error:
        return [
            Problem(p.path, f"{p.message}. It stood at {standing_at(config, p.path)!r:.200}") for p in error.problems
        ]
    return []


def standing_at(config: Mapping[str, Any], path: str) -> Any:
    """What stands in a config at a dotted path; None where nothing does."""
    value: Any = config
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def assembled(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields -> a config's JSON: sections nested, the other methods' left out, empty knobs left to their defaults."""
    method = data.get("method") or ""
    config: dict[str, Any] = {method: {}} if method in METHODS else {}
    task = data.get("task.name") or KNOBS["task.name"].default
    for field, knob in KNOBS.items():
        section, value = field.partition(".")[0], data.get(field)
        off = any(field.startswith(f"{o}.") and not data.get(o) for o in OPTIONAL)
        if value is None or off or (section in METHODS and section != method) or knob.tag not in ("", task):
            continue
        *outer, name = knob.path.split(".")
        place = config
        for key in outer:
            place = place.setdefault(key, {})
        place[name] = value
    return config


def initial_from(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config's JSON -> what stands in the fields; defaults for what it does not say."""
    out: dict[str, Any] = {}
    task = standing_at(config, "task.name") or KNOBS["task.name"].default
    for field, knob in KNOBS.items():
        value = standing_at(config, knob.path) if knob.tag in ("", task) else None
        chosen = knob.default if value is None else value
        out[field] = None if chosen is None else written(knob, chosen)
    return out | {path: bool((config.get(path.partition(".")[0]) or {}).get("lora")) for path in OPTIONAL}
