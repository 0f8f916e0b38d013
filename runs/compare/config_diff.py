"""Differences between the configs of several runs, in the order and under the sections of RunConfig."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from workers.config import RunConfig, config_fields

Leaves = dict[str, Any]
ABSENT = object()


@dataclass(frozen=True)
class Difference:
    """A setting and its value in each run, as JSON; None if a run's config has no such setting."""

    path: str
    name: str
    help: str
    values: tuple[str | None, ...]
    baseline: str | None

    @property
    def differs(self) -> bool:
        """Return whether the runs have different values."""
        return len(set(self.values)) > 1

    @property
    def cells(self) -> list[tuple[str | None, bool]]:
        """Return (value, whether it differs from the baseline's) for each run."""
        return [(value, value != self.baseline) for value in self.values]


@dataclass(frozen=True)
class ConfigDiff:
    """Settings by section, each with its value in every run. `same` counts the settings that all runs share."""

    sections: tuple[tuple[str, tuple[Difference, ...]], ...]
    same: int

    @property
    def differing(self) -> int:
        """Return the number of settings that differ."""
        return sum(d.differs for _, section in self.sections for d in section)


def config_diff(configs: Sequence[Mapping[str, Any]], baseline: int = 0, *, everything: bool = False) -> ConfigDiff:
    """Return the settings that differ, or all if `everything`. `baseline` indexes the config to compare with."""
    flat = [dict(_leaves(config)) for config in configs]
    help_of = {
        setting.path: gettext(setting.help.replace("\n", " ")) if setting.help else ""
        for setting in config_fields(RunConfig)
    }
    order = {path: i for i, path in enumerate(help_of)}
    paths = sorted({p for leaves in flat for p in leaves}, key=lambda p: (order.get(p, len(order)), p))
    every = [_difference(path, flat, baseline, help_of.get(path, "")) for path in paths]
    sections: dict[str, list[Difference]] = {}
    for difference in every:
        if difference.differs or everything:
            sections.setdefault(difference.path.rpartition(".")[0], []).append(difference)
    same = sum(not difference.differs for difference in every)
    return ConfigDiff(tuple((name, tuple(section)) for name, section in sections.items()), same)


def diff_to_json(diff: ConfigDiff, names: Sequence[str]) -> str:
    """Return the differences as JSON to copy: path -> run name -> value. Runs without the setting are left out."""
    values_by_path = {
        d.path: {n: json.loads(v) for n, v in zip(names, d.values, strict=True) if v is not None}
        for _, section in diff.sections
        for d in section
        if d.differs
    }
    return json.dumps(values_by_path, indent=2, ensure_ascii=False)


def _difference(path: str, flat: Sequence[Leaves], baseline: int, help_text: str) -> Difference:
    values = tuple(_text(leaves.get(path, ABSENT)) for leaves in flat)
    return Difference(path, path.rpartition(".")[2], help_text, values, values[baseline] if values else None)


def _text(value: Any) -> str | None:
    return None if value is ABSENT else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _leaves(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield (path, value) of each leaf. An empty section is a value: it is present, and other configs may lack it."""
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
