"""Texts and numbers as PostgreSQL can keep them. What it cannot hold is shown as �, never dropped without a trace."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

UNKNOWN = "\ufffd"
HALVES = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with NUL and halves of surrogate pairs replaced by U+FFFD: PostgreSQL refuses both."""
    text = text.replace("\x00", UNKNOWN)
    # Looked for first: putting a long text right takes many times its memory, and hardly any needs it.
    if text.isascii() or not HALVES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def number(value: float | None) -> float | str | None:
    """A number for a JSON column, which has no NaN and no infinities: those become their names, as on the wire."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def numbers(parts: Mapping[str, float]) -> dict[str, float | str | None]:
    """A record's parts for a JSON column."""
    return {storable(name): number(value) for name, value in parts.items()}
