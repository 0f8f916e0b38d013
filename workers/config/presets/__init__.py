"""Named starting points. A preset is a JSON file with the values that differ from the defaults, and its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from workers.config.decode import ConfigError, Problem
from workers.config.presets.needs import NeededFile, NeededService, PresetNeeds

__all__ = ["NeededFile", "NeededService", "Preset", "PresetNeeds", "current_name", "preset", "presets"]

FORMER_NAMES = {"es-paper": "es-conciseness-paper", "grpo-paper": "grpo-conciseness-paper"}
"""Former name -> name of the preset that a launch with it starts from now."""


@dataclass(frozen=True)
class Preset:
    """A config to start from. `notes`: sentences on its differences from the publication and between sources."""

    name: str
    title: str
    why: str
    config: dict[str, Any]
    notes: tuple[str, ...] = ()
    needs: PresetNeeds = field(default_factory=PresetNeeds)

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Preset:
        """Return the preset of a file. Raise TypeError for an unknown or missing key."""
        notes, needs = tuple(data.get("notes", ())), PresetNeeds.from_json(data.get("needs", {}))
        return cls(name, **{**data, "notes": notes, "needs": needs})

    @property
    def tiny_name(self) -> str:
        """Return the preset of the same method and task that needs only this machine; empty if there is none."""
        method, task = self.config["method"], self.config.get("task", {}).get("name", "conciseness")
        names = (f"{method}-{task}-tiny", f"{method}-tiny") if task == "conciseness" else (f"{method}-{task}-tiny",)
        return next((name for name in names if name in presets() and name != self.name), "")

    def texts(self) -> Iterator[str]:
        """Yield the texts that a page shows and translates."""
        yield from (self.title, self.why, *self.notes, *self.needs.texts())


@cache
def presets() -> dict[str, Preset]:
    """Return all presets by name, in the order of their names."""
    files = sorted(Path(__file__).parent.glob("*.json"))
    return {f.stem: Preset.from_json(f.stem, json.loads(f.read_text(encoding="utf-8"))) for f in files}


def current_name(name: str) -> str:
    """Return the name that a preset has now; any other text unchanged."""
    return FORMER_NAMES.get(name, name)


def preset(name: str) -> Preset:
    """Return the preset of that name, or of that former name. Raise ConfigError naming the valid ones."""
    try:
        return presets()[current_name(name)]
    except KeyError:
        raise ConfigError([Problem("preset", f"must be one of {', '.join(presets())}, not {name!r}")]) from None
