"""The number of settings that a comparison of configs lists for a section."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def count_settings(section: Any) -> int:
    """Return the settings of a section and of those in it; a section that is null is one."""
    values = [getattr(section, field.name) for field in fields(section)]
    return sum(count_settings(value) if is_dataclass(value) else 1 for value in values)
