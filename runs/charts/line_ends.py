"""Ends of lines and their letters. Letters of lines that end close together are joined in one label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext

from runs.charts.chart import numbers, places
from runs.charts.marks import Mark
from workers.analysis.aggregate import Floats

NEAR = 0.05
"""Share of the chart's width and height within which letters would overlap."""
MAX_LETTERS = 4


@dataclass(frozen=True)
class LineData:
    """A run's points of one key, ascending in x: the measured and the smoothed values."""

    mark: Mark
    x: Floats
    y: Floats
    smoothed: Floats


@dataclass(frozen=True)
class End:
    """The end of one line or several lines, the runs of these, and their letters as text."""

    x: float
    y: float
    text: str
    marks: tuple[Mark, ...]


def ends(lines: Sequence[LineData], log_y: bool = False) -> list[End]:
    """Return the ends of the lines from the lowest up. Lines without a drawable point have none."""
    line_ends = [end for line in lines if (end := _last(line, log_y)) is not None]
    if not line_ends:
        return []
    # Distances are shares of the chart: letters collide on the screen, in any units.
    every = np.concatenate([_drawable(line, log_y)[1] for line in lines])
    wide = float(np.ptp(np.concatenate([line.x for line in lines]))) or 1.0
    high = float(np.ptp(_height(every, log_y))) or 1.0
    clusters: list[list[tuple[Mark, float, float]]] = []
    for mark, x, y in sorted(line_ends, key=lambda end: end[2]):
        near = next((c for c in clusters if abs(c[0][1] - x) < NEAR * wide
                     and abs(_at(c[0][2], log_y) - _at(y, log_y)) < NEAR * high), None)  # fmt: skip
        clusters.append([(mark, x, y)]) if near is None else near.append((mark, x, y))
    return [_end(cluster) for cluster in clusters]


def end_letters(labels: Sequence[End], axis: str) -> list[dict[str, Any]]:
    """Return the trace of the letters at the ends of lines, which identify a line without its colour. axis: the x
    axis."""
    if not labels:
        return []
    # With (letter, uid) of each run, the page can drop the letters of hidden lines.
    return [{
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "cliponaxis": False,
        "name": gettext("letters of the runs"), "meta": {"letters": True},
        "customdata": [[[mark.letter, mark.run.uid] for mark in end.marks] for end in labels],
        "x": places(np.array([end.x for end in labels]), axis), "y": numbers(end.y for end in labels),
        "text": [f" {end.text}" for end in labels], "textposition": "middle right",
    }]  # fmt: skip


def _end(cluster: Sequence[tuple[Mark, float, float]]) -> End:
    marks = sorted((mark for mark, _, _ in cluster), key=lambda mark: (len(mark.letter), mark.letter))
    letters = [mark.letter for mark in marks]
    hidden_count = len(letters) - MAX_LETTERS
    text = " ".join(letters[:MAX_LETTERS]) + (f" +{hidden_count}" if hidden_count > 0 else "")
    return End(max(x for _, x, _ in cluster), float(np.mean([y for _, _, y in cluster])), text, tuple(marks))


def _last(line: LineData, log_y: bool) -> tuple[Mark, float, float] | None:
    x, y = _drawable(line, log_y)
    return (line.mark, float(x[-1]), float(y[-1])) if len(x) else None


def _drawable(line: LineData, log_y: bool) -> tuple[Floats, Floats]:
    is_drawable = np.isfinite(line.smoothed) & ((line.smoothed > 0) | (not log_y))
    return line.x[is_drawable], line.smoothed[is_drawable]


def _height(y: Floats, log_y: bool) -> Floats:
    return np.log(y) if log_y else y


def _at(y: float, log_y: bool) -> float:
    return float(np.log(y)) if log_y else y
