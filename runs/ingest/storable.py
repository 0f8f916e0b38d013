"""Convert texts and numbers for PostgreSQL. Characters that it cannot store become �, and are never just dropped."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

UNKNOWN = "\ufffd"
HALVES = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return the text with U+FFFD for NUL and halves of surrogate pairs, which PostgreSQL refuses."""
    text = text.replace("\x00", UNKNOWN)
    # The search comes first, because the repair takes many times the text's memory, and few texts need it.
    if text.isascii() or not HALVES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def number(value: float | None) -> float | str | None:
    """Convert a number for a JSON column, which has no NaN and no infinities: they become their names, as in the
    API."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def numbers(parts: Mapping[str, float]) -> dict[str, float | str | None]:
    """Convert a record's parts for a JSON column."""
    return {storable(name): number(value) for name, value in parts.items()}
