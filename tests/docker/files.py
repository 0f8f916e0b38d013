"""The Dockerfile and the compose files, read; no container is started."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE, COMPOSE = ROOT / "docker" / "Dockerfile", ROOT / "docker" / "compose.yaml"


@dataclass
class Stage:
    """One image of the Dockerfile: what it begins from, and its instructions in order."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all_of(self, instruction: str) -> list[str]:
        """What follows each of that name."""
        return [words for name, words in self.instructions if name == instruction]


def stages() -> dict[str, Stage]:
    """The stages by name."""
    found: dict[str, Stage] = {}
    for instruction, words in _instructions():
        if instruction == "FROM":
            base, _, name = words.split()
            stage = found[name] = Stage(name, base)
        else:
            stage.instructions.append((instruction, words))
    return found


def lineage(name: str) -> list[Stage]:
    """The stage and those it begins from, the last one first."""
    known = stages()
    out = [known[name]]
    while out[-1].base in known:
        out.append(known[out[-1].base])
    return out


def newest(name: str, instruction: str) -> str:
    """What a stage has of an instruction whose last one counts."""
    return next(words for stage in lineage(name) for words in reversed(stage.all_of(instruction)))


def variables(name: str) -> dict[str, str]:
    """The environment that an image brings."""
    pairs = (pair for stage in reversed(lineage(name)) for words in stage.all_of("ENV") for pair in shlex.split(words))
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def compose() -> dict[str, Any]:
    """compose.yaml, with its anchors and merges resolved."""
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return loaded


def command_of(service: str) -> list[str]:
    """What a service of ours runs."""
    said = compose()["services"][service]
    return list(said.get("command") or json.loads(newest(said["build"]["target"], "CMD")))


def _instructions() -> list[tuple[str, str]]:
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = (line.strip().partition(" ") for line in joined.splitlines() if line.strip())
    return [(name.upper(), words.strip()) for name, _, words in pairs]
