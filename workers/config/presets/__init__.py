"""Named starting points. A preset is a JSON file with the values that differ from the defaults, and its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workers.config.decode import ConfigError, Problem


@dataclass(frozen=True)
class Preset:
    """A config to start from."""

    name: str
    title: str
    why: str
    config: dict[str, Any]


@cache
def presets() -> dict[str, Preset]:
    """Return all presets by name, in the order of their names."""
    files = sorted(Path(__file__).parent.glob("*.json"))
    return {f.stem: Preset(f.stem, **json.loads(f.read_text(encoding="utf-8"))) for f in files}


def preset(name: str) -> Preset:
    """Return the preset of that name. Raise ConfigError naming the valid ones."""
    try:
        return presets()[name]
    except KeyError:
        raise ConfigError([Problem("preset", f"must be one of {', '.join(presets())}, not {name!r}")]) from None
