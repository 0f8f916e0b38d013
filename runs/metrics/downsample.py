"""M4 down-sampling: only the points that a line chart of `px` pixel columns needs.

The first, last, lowest and highest point of each column are retained, so that the line through them covers the same
pixels that the line through all points covers (Jugel et al., "M4: A Visualization-Oriented Time Series Data
Aggregation", VLDB 2014). A gap (NaN) breaks the line in the result where it breaks it in the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.metrics.packing import Floats, Ints

Span: TypeAlias = tuple[float, float]


def m4(
    x: Floats,
    y: Floats,
    px: int,
    span: Span | None = None,
    pieces: NDArray[Any] | None = None,
    zoom: Span | None = None,
) -> Ints:
    """Return the ascending indices of the points to draw: at most four per column and piece, and one NaN per gap.

    `span` is the x range that the `px` columns divide (default: the data's). `pieces` numbers runs of points that are
    separate lines, each ascending in x (default: a single line). `zoom` is an x range viewed more closely: it is
    divided into as many columns, and the points around it stay the same. Raise ValueError if px < 1.
    """
    if px < 1:
        raise ValueError(f"px must be at least 1, not {px}")
    if zoom is None:
        return _m4(x, y, px, span, pieces)
    is_inside = (x >= zoom[0]) & (x <= zoom[1])
    inside = np.flatnonzero(is_inside)
    zoomed_indices = inside[_m4(x[inside], y[inside], px, zoom, None if pieces is None else pieces[inside])]
    # The line comes from the point before and goes to the one after.
    neighbours = np.flatnonzero(~is_inside & (np.r_[is_inside[1:], False] | np.r_[False, is_inside[:-1]]))
    return np.unique(np.concatenate([_m4(x, y, px, span, pieces), zoomed_indices, neighbours]))


def _m4(x: Floats, y: Floats, px: int, span: Span | None, pieces: NDArray[Any] | None) -> Ints:
    if len(x) <= 2 * px:
        return np.arange(len(x))
    span = span or (float(x.min()), float(x.max()))
    if pieces is None or not _changes(pieces).any():
        solid = _corners_of_one_line(x, y, px, span)
        if solid is not None:
            return solid
    gap = np.isnan(y)
    column = _columns(x, px, span)
    line = np.cumsum(gap) + (0 if pieces is None else _changes(pieces).cumsum())
    solid = np.flatnonzero(~gap)
    return np.union1d(_corners(y, solid, column, line), np.flatnonzero(gap & ~np.r_[False, gap[:-1]]))


def _columns(x: Floats, px: int, span: Span) -> Ints:
    """Return the pixel column of each point."""
    low, high = span
    width = (high - low) or 1.0
    return np.clip((x - low) / width * px, 0, px - 1).astype(np.int64)


def _corners_of_one_line(x: Floats, y: Floats, px: int, span: Span) -> Ints | None:
    """Return the corners of an unbroken line, without a Python loop over points; None if a gap breaks the line: numpy's
    argmin finds NaN first."""
    starts = _starts(x, px, span)
    ends = np.append(starts[1:], len(x))
    # Compute both extremes together, while a column is in the cache.
    columns = zip(starts.tolist(), ends.tolist(), strict=True)
    extremes = [((part := y[start:end]).argmin(), part.argmax()) for start, end in columns]
    lowest, highest = starts + np.array(extremes, np.int64).T
    if np.isnan(y[lowest]).any():
        return None
    return np.unique(np.concatenate([starts, ends - 1, lowest, highest]))


def _starts(x: Floats, px: int, span: Span) -> Ints:
    """Return the start index of each column that holds points. x ascends, so the start is found from the column's edge,
    or by bisection if rounding puts a point on the other side of the edge."""
    column_numbers = np.arange(px)
    begins = np.searchsorted(x, span[0] + (span[1] - span[0]) / px * column_numbers)
    right = (begins == 0) | (_columns(x[begins - 1], px, span) < column_numbers)
    right &= (begins == len(x)) | (_columns(x[np.minimum(begins, len(x) - 1)], px, span) >= column_numbers)
    if not right.all():
        begins = _halved(x, px, span, column_numbers)
    return np.unique(begins[begins < len(x)])


def _halved(x: Floats, px: int, span: Span, column_numbers: Ints) -> Ints:
    low, high = np.zeros(px, np.int64), np.full(px, len(x), np.int64)
    while (searching := low < high).any():
        middle = (low + high) // 2
        before = searching & (_columns(x[np.minimum(middle, len(x) - 1)], px, span) < column_numbers)
        low, high = np.where(before, middle + 1, low), np.where(searching & ~before, middle, high)
    return low


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.concatenate([[False], values[1:] != values[:-1]])


def _corners(y: Floats, solid: Ints, column: Ints, line: Ints) -> Ints:
    """Return the first, last, lowest and highest of each group of neighbours that share column and line."""
    if not len(solid):
        return solid
    new = _changes(column[solid]) | _changes(line[solid])
    starts = np.r_[0, np.flatnonzero(new)]
    group, values = np.cumsum(new, dtype=np.int64), y[solid]
    lowest = _first(values == np.minimum.reduceat(values, starts)[group], group)
    highest = _first(values == np.maximum.reduceat(values, starts)[group], group)
    lasts = np.r_[starts[1:], len(solid)] - 1
    corners: Ints = solid[np.concatenate([starts, lasts, lowest, highest])]
    return corners


def _first(hit: NDArray[np.bool_], group: Ints) -> Ints:
    """Return the index of each group's first hit."""
    at: Ints = np.flatnonzero(hit)
    firsts: Ints = at[np.unique(group[at], return_index=True)[1]]
    return firsts


def sample_evenly(steps: Sequence[int], limit: int) -> list[int]:
    """Return at most `limit` of the steps, at least two, with the first and the last among them."""
    if len(steps) <= limit:
        return list(steps)
    stride = (len(steps) - 1) / (limit - 1)
    return [steps[round(i * stride)] for i in range(limit)]
