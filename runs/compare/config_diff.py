"""Where the configs of several runs differ, in the order and under the sections of RunConfig."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from workers.config import RunConfig, knobs

Leaves = dict[str, Any]
ABSENT = object()


@dataclass(frozen=True)
class Difference:
    """One knob and its value in each run, as JSON; None where a run's config has no such knob."""

    path: str
    name: str
    help: str
    values: tuple[str | None, ...]
    baseline: str | None

    @property
    def differs(self) -> bool:
        """True where not all runs have the same value."""
        return len(set(self.values)) > 1

    @property
    def cells(self) -> list[tuple[str | None, bool]]:
        """(value, whether it is another than the baseline's) of each run."""
        return [(value, value != self.baseline) for value in self.values]


@dataclass(frozen=True)
class ConfigDiff:
    """Knobs by section, each with its value in every run. `same` counts the knobs that all runs share."""

    sections: tuple[tuple[str, tuple[Difference, ...]], ...]
    same: int

    @property
    def differing(self) -> int:
        """How many knobs differ."""
        return sum(d.differs for _, section in self.sections for d in section)


def config_diff(configs: Sequence[Mapping[str, Any]], baseline: int = 0, *, everything: bool = False) -> ConfigDiff:
    """Only what differs, or everything. `baseline` is the index of the config that the others are held against."""
    flat = [dict(_leaves(config)) for config in configs]
    help_of = {knob.path: gettext(knob.help.replace("\n", " ")) if knob.help else "" for knob in knobs(RunConfig)}
    order = {path: i for i, path in enumerate(help_of)}
    paths = sorted({p for leaves in flat for p in leaves}, key=lambda p: (order.get(p, len(order)), p))
    every = [_difference(path, flat, baseline, help_of.get(path, "")) for path in paths]
    sections: dict[str, list[Difference]] = {}
    for found in every:
        if found.differs or everything:
            sections.setdefault(found.path.rpartition(".")[0], []).append(found)
    same = sum(not found.differs for found in every)
    return ConfigDiff(tuple((name, tuple(section)) for name, section in sections.items()), same)


def as_json(diff: ConfigDiff, names: Sequence[str]) -> str:
    """What differs, as JSON to copy: path -> name of the run -> value; a run without the knob is left out."""
    found = {
        d.path: {n: json.loads(v) for n, v in zip(names, d.values, strict=True) if v is not None}
        for _, section in diff.sections
        for d in section
        if d.differs
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _difference(path: str, flat: Sequence[Leaves], baseline: int, words: str) -> Difference:
    values = tuple(_text(leaves.get(path, ABSENT)) for leaves in flat)
    return Difference(path, path.rpartition(".")[2], words, values, values[baseline] if values else None)


def _text(value: Any) -> str | None:
    return None if value is ABSENT else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _leaves(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """(path, value) of what is no section. An empty section is a value: it is there, and others may lack it."""
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
