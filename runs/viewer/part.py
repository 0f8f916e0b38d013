"""A part of a statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sql:
    """A part of a statement, and its parameters in their order."""

    text: str
    values: list[Any] = field(default_factory=list)
