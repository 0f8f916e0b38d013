"""Points as strict JSON can hold them: NaN and ±Inf are the texts NaN, Infinity and -Infinity, as in the records."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from runs.metrics.packing import Block, Floats

Points: TypeAlias = dict[str, dict[str, list[Any]]]


def wire(points: Block) -> Points:
    """key -> {step, t, value}: lists of equal length."""
    out: Points = {}
    for key in points.keys:
        rows, values = points.column(key)
        out[key] = {"step": points.steps[rows].tolist(), "t": points.t[rows].tolist(), "value": sayable(values)}
    return out


def sayable(values: Floats) -> list[float | str]:
    """Floats, each that JSON has no number for as its name."""
    plain: list[float | str] = values.tolist()
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        plain[i] = "NaN" if np.isnan(values[i]) else "Infinity" if values[i] > 0 else "-Infinity"
    return plain
