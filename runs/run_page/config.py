"""A stored config as sections of knobs, in the order of RunConfig, with what differs from the defaults."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from runs.launching.config_form import KNOBS, explained, field_name
from workers.config import Knob, RunConfig, knobs


@dataclass(frozen=True)
class Entry:
    """A knob as it stands in one config; `field` is its field in the launch form, empty where it has none."""

    name: str
    value: str
    help: str
    is_default: bool
    field: str


def config_sections(config: Mapping[str, Any]) -> list[tuple[str, list[Entry]]]:
    """(section, its knobs). JSONB forgets the order of keys, so it comes from RunConfig; unknown keys stand last."""
    known = _knobs((config.get("task") or {}).get("name", ""))
    order = {path: i for i, path in enumerate(known)}
    found: dict[str, list[Entry]] = {}
    for path, value in sorted(_leaves(config, known), key=lambda leaf: (order.get(leaf[0], len(order)), leaf[0])):
        section, _, name = path.rpartition(".")
        found.setdefault(section, []).append(_entry(known.get(path), name, value))
    return list(found.items())


def _knobs(task: str) -> dict[str, Knob]:
    """By path, for a run of this task: tasks have options of the same name."""
    return {knob.path: knob for knob in knobs(RunConfig) if knob.tag in ("", task)}


def _entry(knob: Knob | None, name: str, value: Any) -> Entry:
    default = json.loads(json.dumps(knob.default)) if knob and not knob.required else ...
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    field = field_name(knob.path, knob.tag) if knob else ""
    return Entry(name, text, explained(knob) if knob else "", value == default, field if field in KNOBS else "")


def _leaves(config: Mapping[str, Any], known: Container[str], prefix: str = "") -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in config.items():
        inner = isinstance(value, Mapping) and f"{prefix}{key}" not in known
        out += _leaves(value, known, f"{prefix}{key}.") if inner else [(prefix + key, value)]
    return out
