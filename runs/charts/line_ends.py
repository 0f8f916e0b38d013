"""Where lines end, and which letters stand there: those of lines that end in one place stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runs.charts.marks import Mark
from workers.analysis.middles import Floats

NEAR = 0.05
"""Of the chart's width and height: letters that are nearer would be written over each other."""
LETTERS_AT_MOST = 4


@dataclass(frozen=True)
class Drawn:
    """A run's points of one key, ascending in x: what was measured, and what is drawn of it."""

    mark: Mark
    x: Floats
    y: Floats
    smoothed: Floats


@dataclass(frozen=True)
class End:
    """A place where one line ends, or several, and the letters of their runs."""

    x: float
    y: float
    text: str


def ends(lines: Sequence[Drawn], log_y: bool = False) -> list[End]:
    """The ends of the lines from the lowest up. Lines without a point that can be drawn have none."""
    found = [end for drawn in lines if (end := _last(drawn, log_y)) is not None]
    if not found:
        return []
    # As parts of the chart: letters collide on the screen, whatever the units.
    every = np.concatenate([_drawable(drawn, log_y)[1] for drawn in lines])
    wide = float(np.ptp(np.concatenate([drawn.x for drawn in lines]))) or 1.0
    high = float(np.ptp(_height(every, log_y))) or 1.0
    clusters: list[list[tuple[Mark, float, float]]] = []
    for mark, x, y in sorted(found, key=lambda end: end[2]):
        near = next((c for c in clusters if abs(c[0][1] - x) < NEAR * wide
                     and abs(_at(c[0][2], log_y) - _at(y, log_y)) < NEAR * high), None)  # fmt: skip
        clusters.append([(mark, x, y)]) if near is None else near.append((mark, x, y))
    return [_end(cluster) for cluster in clusters]


def _end(cluster: Sequence[tuple[Mark, float, float]]) -> End:
    letters = [mark.letter for mark, _, _ in sorted(cluster, key=lambda end: (len(end[0].letter), end[0].letter))]
    more = len(letters) - LETTERS_AT_MOST
    text = " ".join(letters[:LETTERS_AT_MOST]) + (f" +{more}" if more > 0 else "")
    return End(max(x for _, x, _ in cluster), float(np.mean([y for _, _, y in cluster])), text)


def _last(drawn: Drawn, log_y: bool) -> tuple[Mark, float, float] | None:
    x, y = _drawable(drawn, log_y)
    return (drawn.mark, float(x[-1]), float(y[-1])) if len(x) else None


def _drawable(drawn: Drawn, log_y: bool) -> tuple[Floats, Floats]:
    good = np.isfinite(drawn.smoothed) & ((drawn.smoothed > 0) | (not log_y))
    return drawn.x[good], drawn.smoothed[good]


def _height(y: Floats, log_y: bool) -> Floats:
    return np.log(y) if log_y else y


def _at(y: float, log_y: bool) -> float:
    return float(np.log(y)) if log_y else y
