"""Read the Dockerfile and the compose files; no container is started."""

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
    """One image of the Dockerfile: its base, and its instructions in order."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def arguments_of(self, instruction: str) -> list[str]:
        """Return the arguments of each instruction of that name."""
        return [arguments for name, arguments in self.instructions if name == instruction]


def stages() -> dict[str, Stage]:
    """Return the stages by name."""
    stages_by_name: dict[str, Stage] = {}
    for instruction, arguments in _instructions():
        if instruction == "FROM":
            base, _, name = arguments.split()
            stage = stages_by_name[name] = Stage(name, base)
        else:
            stage.instructions.append((instruction, arguments))
    return stages_by_name


def lineage(name: str) -> list[Stage]:
    """Return the stage and its base stages, the stage itself first."""
    known_stages = stages()
    out = [known_stages[name]]
    while out[-1].base in known_stages:
        out.append(known_stages[out[-1].base])
    return out


def last_value(name: str, instruction: str) -> str:
    """Return the arguments of the last instruction of that name in a stage or its base stages."""
    return next(arguments for stage in lineage(name) for arguments in reversed(stage.arguments_of(instruction)))


def variables(name: str) -> dict[str, str]:
    """Return the environment variables that an image sets."""
    pairs = (
        pair
        for stage in reversed(lineage(name))
        for arguments in stage.arguments_of("ENV")
        for pair in shlex.split(arguments)
    )
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def compose() -> dict[str, Any]:
    """Return compose.yaml, with its anchors and merges resolved."""
    content: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return content


def command_of(service: str) -> list[str]:
    """Return the command of a service that runs this project."""
    definition = compose()["services"][service]
    return list(definition.get("command") or json.loads(last_value(definition["build"]["target"], "CMD")))


def _instructions() -> list[tuple[str, str]]:
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = (line.strip().partition(" ") for line in joined.splitlines() if line.strip())
    return [(name.upper(), arguments.strip()) for name, _, arguments in pairs]
