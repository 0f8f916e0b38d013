"""Small line charts of a run's held-out reward, as points of an inline SVG, with a sentence that describes the line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext

from runs import metrics
from runs.charts import course, number
from runs.metrics import Curve
from runs.metrics.packing import Floats
from runs.models import Run

WIDTH, HEIGHT, MARGIN = 96, 24, 3
"""Size of the drawing and the space around its line, in pixels."""


@dataclass(frozen=True)
class Sparkline:
    """A line of a chart: `lines` are the points of its unbroken parts, as SVG writes them; `end` is its last point;
    `words` describes the line."""

    lines: tuple[str, ...]
    end: tuple[str, str]
    words: str
    width: int = WIDTH
    height: int = HEIGHT


def sparklines(runs: Sequence[Run], key: str) -> dict[int, Sparkline]:
    """Return the sparkline of each run's series of this key by step, by run id, without runs that have no number there.

    One query. Steps that a resume wrote again are plotted once.
    """
    curves = metrics.read(runs, [key]) if runs else []
    drawn = {curve.run_id: _sparkline(curve) for curve in curves}
    return {pk: sparkline for pk, sparkline in drawn.items() if sparkline is not None}


def _sparkline(curve: Curve) -> Sparkline | None:
    x, y = curve.x[~curve.overwritten], curve.y[~curve.overwritten]
    finite = np.isfinite(y)
    if not finite.any():
        return None
    thin = metrics.m4(x, np.where(finite, y, np.nan), WIDTH)
    left, top = _scaled(x, x[finite], WIDTH), HEIGHT - _scaled(y, y[finite], HEIGHT)
    pieces = _pieces(thin, finite[thin])
    lines = [[_point(left[i], top[i]) for i in piece] for piece in pieces]
    words = gettext("Held-out reward by step: %(course)s") % {"course": course(y[finite], number, x[finite])}
    return Sparkline(tuple(map(" ".join, lines)), _coordinates(left[pieces[-1][-1]], top[pieces[-1][-1]]), words)


def _scaled(values: Floats, finite: Floats, size: int) -> Floats:
    """Return the values' distances from the lower end of a side of this size; the middle if all are equal."""
    low, high = float(finite.min()), float(finite.max())
    # Halves, because the difference of the largest floats is infinite.
    extent = high / 2 - low / 2
    shares = (values / 2 - low / 2) / extent if extent > 0 else np.full(len(values), 0.5)
    return MARGIN + shares * (size - 2 * MARGIN)


def _pieces(indices: Iterable[int], finite: Iterable[bool]) -> list[list[int]]:
    """Return the indices in unbroken parts: a value that is not finite ends a part."""
    pieces: list[list[int]] = [[]]
    for index, is_finite in zip(indices, finite, strict=True):
        if is_finite:
            pieces[-1].append(index)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _coordinates(x: float, y: float) -> tuple[str, str]:
    return f"{x:.1f}", f"{y:.1f}"


def _point(x: float, y: float) -> str:
    return ",".join(_coordinates(x, y))
