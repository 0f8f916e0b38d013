"""Differences between the configs of several runs, in the order and under the sections of RunConfig.

Runs with equal configs apart from seed, compute and tracking share a column, so that fifty seeds of three settings have
three columns. Settings that only the runs of one method have, all with the same value, are folded by section.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.utils.translation import gettext

from runs.charts.groups import IGNORED_KEYS
from workers.config import RunConfig, config_fields

Leaves = dict[str, Any]
Columns = tuple[tuple[int, ...], ...]
ABSENT = object()
MAX_CELL_VALUES = 8


@dataclass(frozen=True)
class DiffCell:
    """The different values of a setting in the runs of a column, as JSON; None for runs without the setting."""

    values: tuple[str | None, ...]
    is_other: bool
    """Whether they differ from the values of the baseline's column."""

    @property
    def first_values(self) -> tuple[str | None, ...]:
        """Return the values that a page shows."""
        return self.values[:MAX_CELL_VALUES]

    @property
    def more(self) -> int:
        """Return the number of values that a page leaves out."""
        return max(0, len(self.values) - MAX_CELL_VALUES)


@dataclass(frozen=True)
class Difference:
    """A setting and its value in each run, as JSON; None if a run's config has no such setting.

    name: the path without its section. cells: one for each column.
    """

    path: str
    name: str
    help: str
    values: tuple[str | None, ...]
    cells: tuple[DiffCell, ...]

    @property
    def varies(self) -> bool:
        """Return whether the runs have different values."""
        return len(set(self.values)) > 1

    @property
    def differs(self) -> bool:
        """Return whether the columns have different values; with one column, whether its runs have."""
        return self.varies if len(self.cells) == 1 else len({frozenset(cell.values) for cell in self.cells}) > 1

    @property
    def only_value(self) -> str:
        """Return the value of the runs that have the setting, for a setting with one such value."""
        return next((value for value in self.values if value is not None), "")


@dataclass(frozen=True)
class MethodSettings:
    """Settings of a section that only the runs of one method have, each with one value in all of them."""

    section: str
    method: str
    settings: tuple[Difference, ...]


@dataclass(frozen=True)
class ConfigDiff:
    """Settings by section, each with its value in every run. `same` counts the settings that all runs share.

    columns: for each column the indices of its runs. baseline: index of the column to compare with. folded: settings of
    one method, which do not appear in `sections`.
    """

    sections: tuple[tuple[str, tuple[Difference, ...]], ...]
    same: int
    columns: Columns = ()
    baseline: int = 0
    folded: tuple[MethodSettings, ...] = ()

    @cached_property
    def settings(self) -> tuple[Difference, ...]:
        """Return all settings that the diff shows, in their order."""
        shared = tuple(setting for _, section in self.sections for setting in section)
        return shared + tuple(setting for fold in self.folded for setting in fold.settings)

    @property
    def differing(self) -> int:
        """Return the number of settings that differ."""
        return sum(setting.differs for setting in self.settings)


def config_diff(configs: Sequence[Mapping[str, Any]], baseline: int = 0, *, everything: bool = False) -> ConfigDiff:
    """Return the settings that differ, or all if `everything`. `baseline` indexes the config to compare with.

    Settings that all methods have come first, then those that differ among the runs of one method.
    """
    flat = [dict(_leaves(config)) for config in configs]
    columns = _columns(configs)
    base = next((i for i, column in enumerate(columns) if baseline in column), 0)
    every = [_difference(path, help_text, flat, columns, base) for path, help_text in _paths(flat)]
    owners = _owners(flat, [str(config.get("method", "")) for config in configs])
    shown = [setting for setting in every if setting.varies or everything]
    folded = [setting for setting in shown if _is_uniform(setting, owners)]
    others = [setting for setting in shown if not _is_uniform(setting, owners)]
    sections: dict[str, list[Difference]] = {}
    for setting in sorted(others, key=lambda setting: setting.path in owners):
        sections.setdefault(setting.path.rpartition(".")[0], []).append(setting)
    same = sum(not setting.varies for setting in every)
    by_section = tuple((name, tuple(section)) for name, section in sections.items())
    return ConfigDiff(by_section, same, columns, base, _folded(folded, owners))


def diff_to_json(diff: ConfigDiff, names: Sequence[str]) -> str:
    """Return the differences as JSON to copy: path -> run name -> value. Runs without the setting are left out."""
    values_by_path = {
        d.path: {n: json.loads(v) for n, v in zip(names, d.values, strict=True) if v is not None}
        for d in diff.settings
        if d.varies
    }
    return json.dumps(values_by_path, indent=2, ensure_ascii=False)


def _columns(configs: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the indices of the configs that are equal apart from IGNORED_KEYS, by their first one."""
    members: dict[str, list[int]] = {}
    for i, config in enumerate(configs):
        recipe = {key: value for key, value in config.items() if key not in IGNORED_KEYS}
        members.setdefault(json.dumps(recipe, sort_keys=True), []).append(i)
    return tuple(tuple(column) for column in members.values())


def _paths(flat: Sequence[Leaves]) -> list[tuple[str, str]]:
    """Return (path, help) of each setting that a config has, in the order of RunConfig."""
    help_of = {
        setting.path: gettext(setting.help.replace("\n", " ")) if setting.help else ""
        for setting in config_fields(RunConfig)
    }
    order = {path: i for i, path in enumerate(help_of)}
    paths = sorted({p for leaves in flat for p in leaves}, key=lambda p: (order.get(p, len(order)), p))
    return [(path, help_of.get(path, "")) for path in paths]


def _difference(path: str, help_text: str, flat: Sequence[Leaves], columns: Columns, base: int) -> Difference:
    values = tuple(_text(leaves.get(path, ABSENT)) for leaves in flat)
    by_column = [tuple(dict.fromkeys(values[i] for i in column)) for column in columns]
    cells = tuple(DiffCell(own, set(own) != set(by_column[base])) for own in by_column)
    return Difference(path, path.rpartition(".")[2], help_text, values, cells)


def _owners(flat: Sequence[Leaves], methods: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return (method, number of its runs) by path, for settings that no run of another method has."""
    if len(set(methods)) < 2:
        return {}
    methods_by_path: dict[str, set[str]] = {}
    for leaves, method in zip(flat, methods, strict=True):
        for path in leaves:
            methods_by_path.setdefault(path, set()).add(method)
    sole = {path: own.pop() for path, own in methods_by_path.items() if len(own) == 1}
    return {path: (method, methods.count(method)) for path, method in sole.items()}


def _is_uniform(setting: Difference, owners: Mapping[str, tuple[str, int]]) -> bool:
    """Return whether all runs of one method, and only these, have the setting, with the same value."""
    own = [value for value in setting.values if value is not None]
    return setting.path in owners and len(set(own)) == 1 and len(own) == owners[setting.path][1]


def _folded(settings: Iterable[Difference], owners: Mapping[str, tuple[str, int]]) -> tuple[MethodSettings, ...]:
    folds: dict[tuple[str, str], list[Difference]] = {}
    for setting in settings:
        section, _, name = setting.path.partition(".")
        folds.setdefault((section, owners[setting.path][0]), []).append(replace(setting, name=name or section))
    return tuple(MethodSettings(section, method, tuple(own)) for (section, method), own in folds.items())


def _text(value: Any) -> str | None:
    return None if value is ABSENT else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _leaves(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield (path, value) of each leaf. An empty section is a value: it is present, and other configs may lack it."""
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
