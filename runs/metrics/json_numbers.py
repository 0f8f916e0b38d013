"""Points in strict JSON: NaN and ±Inf are the texts NaN, Infinity and -Infinity, as in the records."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from runs.metrics.packing import Block, Floats

Points: TypeAlias = dict[str, dict[str, list[Any]]]


def wire(points: Block) -> Points:
    """Return points as key -> {step, t, value}, which are lists of equal length."""
    out: Points = {}
    for key in points.keys:
        rows, values = points.column(key)
        out[key] = {"step": points.steps[rows].tolist(), "t": json_floats(points.t[rows]), "value": json_floats(values)}
    return out


def json_floats(values: Floats) -> list[float | str]:
    """Return floats for JSON; NaN and ±Inf are given as their names."""
    json_values: list[float | str] = values.tolist()
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        json_values[i] = "NaN" if np.isnan(values[i]) else "Infinity" if values[i] > 0 else "-Infinity"
    return json_values
