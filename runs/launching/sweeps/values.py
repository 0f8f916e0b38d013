"""Values of a sweep's keys, by their type: how they are typed, compared, put in order and written to a file.

`run_names.format_value` writes a value as text. A number has a position on a scale; any other value is a category.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from runs.charts import Cell
from runs.launching.config_form import parse_value
from runs.launching.run_names import format_value
from workers.config import ConfigField


def parse_values(setting: ConfigField, text: str) -> list[Any]:
    """Parse `0.1, 0.2` to [0.1, 0.2]; lists and objects are typed as a JSON list. Invalid values stay as typed."""
    if setting.kind in (tuple, dict):
        values = parse_value(setting, text)
        return values if isinstance(values, list) else [values]
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if setting.kind is bool:
        return [{"true": True, "false": False}.get(part.lower(), part) for part in parts]
    return [parse_value(setting, part) for part in parts]


def number_of(value: Any) -> float | None:
    """Return the number by which a value has a position on a scale; None for a category."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def identity_in(cell: Mapping[str, Any], key: str) -> str:
    """Return a text that is equal for equal values of the key; empty for a cell without the key. 1 equals 1.0."""
    if key not in cell:
        return ""
    number = number_of(cell[key])
    return json.dumps(cell[key], sort_keys=True) if number is None else repr(number)


def in_order(categories: Mapping[str, Any]) -> list[str]:
    """Return the identities of categories in the order of an axis: false before true, others as they come."""
    return sorted(categories) if all(isinstance(value, bool) for value in categories.values()) else list(categories)


def file_value(value: Any) -> Cell:
    """Return a number as it is, and any other value as text: a boolean is not a number in a file."""
    return format_value(value) if number_of(value) is None else value
