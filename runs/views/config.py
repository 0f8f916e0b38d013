"""A stored config as sections of knobs, in the order of RunConfig, with what differs from the defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers.config import RunConfig, knobs

KNOBS = {knob.path: knob for knob in knobs(RunConfig)}
ORDER = {path: i for i, path in enumerate(KNOBS)}


@dataclass(frozen=True)
class Entry:
    """A knob as it stands in one config."""

    name: str
    value: str
    help: str
    is_default: bool


def config_sections(config: Mapping[str, Any]) -> list[tuple[str, list[Entry]]]:
    """(section, its knobs). JSONB forgets the order of keys, so it comes from RunConfig; unknown keys stand last."""
    found: dict[str, list[Entry]] = {}
    for path, value in sorted(_leaves(config), key=lambda leaf: (ORDER.get(leaf[0], len(ORDER)), leaf[0])):
        section, _, name = path.rpartition(".")
        found.setdefault(section, []).append(_entry(path, name, value))
    return list(found.items())


def _entry(path: str, name: str, value: Any) -> Entry:
    knob = KNOBS.get(path)
    default = json.loads(json.dumps(knob.default)) if knob and not knob.required else ...
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return Entry(name, text, knob.help if knob else "", value == default)


def _leaves(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in config.items():
        inner = isinstance(value, Mapping) and f"{prefix}{key}" not in KNOBS
        out += _leaves(value, f"{prefix}{key}.") if inner else [(prefix + key, value)]
    return out
