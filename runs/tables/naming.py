"""A value that runs share -> the term that finds those runs."""

from __future__ import annotations

import json
from typing import Any

from runs.tables.columns import Column, Kind
from runs.tables.language import written


def exactly(column: Column, value: Any) -> str:
    """The term that holds for runs with this value in the column, as `grouped` gives it."""
    if value is None:
        return f"{column.key}:none"
    if isinstance(value, bool | dict | list) or (column.kind is Kind.CONFIG and not isinstance(value, str)):
        value = json.dumps(value)
    return written(column.key, ":", str(value))
