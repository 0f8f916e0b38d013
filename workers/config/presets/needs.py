"""Hardware, files and services that a preset needs. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NeededFile:
    """A file or model that the user provides: the name by which the config names it, its origin and its licence."""

    path: str
    what: str
    origin: str
    licence: str


@dataclass(frozen=True)
class NeededService:
    """A service that must be registered before the run starts."""

    kind: str
    name: str
    what: str


@dataclass(frozen=True)
class PresetNeeds:
    """Requirements of a preset.

    `gpus`: GPUs of each of `nodes` nodes, each with `gpu_memory_gb` · 10⁹ bytes. `parameters_billions`: weights of the
    model, in 10⁹. `hours`: shortest and longest duration, None if unknown. `hours_on`: the hardware and the source of
    the hours.
    """

    gpus: int = 0
    gpu_memory_gb: float = 0
    nodes: int = 1
    parameters_billions: float = 0
    hours: tuple[float, float] | None = None
    hours_on: str = ""
    files: tuple[NeededFile, ...] = ()
    services: tuple[NeededService, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PresetNeeds:
        """Return the needs as a preset's file writes them. Raise TypeError for an unknown or missing key."""
        hours = data.get("hours")
        return cls(**{
            **data,
            "hours": (float(hours[0]), float(hours[1])) if hours else None,
            "files": tuple(NeededFile(**row) for row in data.get("files", ())),
            "services": tuple(NeededService(**row) for row in data.get("services", ())),
        })  # fmt: skip

    def texts(self) -> Iterator[str]:
        """Yield the texts that a page shows and translates."""
        yield self.hours_on
        for file in self.files:
            yield from (file.what, file.origin, file.licence)
        for service in self.services:
            yield service.what
