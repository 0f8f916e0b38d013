"""Lists of sections, such as evaluate.prior_tasks, as pages show them: without the settings that have defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from workers.config import ConfigField, config_fields

NAME = "name"
"""The setting of a section that decides which options it has."""


def without_defaults(setting: ConfigField, value: Any) -> Any:
    """Return the JSON value of a setting; if it is a list of sections, without their settings that have defaults.

    The names of the sections stay, and so do keys that this version does not know. The config means the same.
    """
    if setting.section is None or not isinstance(value, list | tuple):
        return value
    return [_changed(item, _defaults(setting.section, item)) if isinstance(item, Mapping) else item for item in value]


def short_text(setting: ConfigField, value: Any) -> str | None:
    """Return a list of sections in words, such as `countdown, math (eval_file=math500.jsonl)`; None for other values.

    Each section has its name, and its settings that differ from their defaults.
    """
    sections = without_defaults(setting, value) if setting.section is not None else None
    if (
        not isinstance(sections, list)
        or not sections
        or not all(isinstance(section, Mapping) and NAME in section for section in sections)
    ):
        return None
    return ", ".join(_section_text(section) for section in sections)


def _section_text(section: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{key}={_text(value)}" for key, value in _leaves(section) if key != NAME)
    return f"{section[NAME]} ({settings})" if settings else str(section[NAME])


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _defaults(section: type, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return path -> default of the settings that a section of this name has, without the name."""
    settings = config_fields(section)
    return {s.path: s.default for s in settings if s.tag in ("", item.get(NAME)) and not s.required and s.path != NAME}


def _changed(section: Mapping[str, Any], defaults: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    changed = {}
    for key, value in section.items():
        path = f"{prefix}{key}"
        if path in defaults:
            if value != defaults[path]:
                changed[key] = value
        elif not isinstance(value, Mapping):
            changed[key] = value
        elif inner := _changed(value, defaults, f"{path}."):
            changed[key] = inner
    return changed


def _leaves(section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value)
        else:
            yield key, value
