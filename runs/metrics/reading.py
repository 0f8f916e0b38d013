"""Read metrics as curves: many runs and keys in one query, along any x axis, down-sampled exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from django.db.models import Max, Sum
from django.db.models.functions import Length
from numpy.typing import NDArray

from runs import metrics
from runs.metrics.chunks import TIMES
from runs.metrics.downsample import Span, m4
from runs.metrics.memory import start_read
from runs.metrics.packing import AXES, Block, Floats, Ints, Progression, unpack
from runs.metrics.segments import SeriesPoints, first_times, read_points
from runs.metrics.times import known_times
from runs.models import Batch, Chunk, Run, Series

COUNTERS = ("tokens", "samples", "gpu_seconds")
CLOCK_PREFIX = "system/"
"""Prefix of keys that are measured by the clock, often several times a step.

A point of such a key does not overwrite another.
"""


def overwritten(steps: Ints, segments: Ints) -> NDArray[np.bool_]:
    """Return a mask, bool[n]: True if a later point of the same key overwrites this one.

    `segments` ascends and numbers the stretches written by one process (attempt and epoch). A point is overwritten if a
    later segment holds a step ≤ its own (the run went back and took another path), or if its own segment repeats its
    step further on. Going back inside one segment is only disorder, and overwrites nothing.
    """
    if _ascend(steps):
        return np.zeros(len(steps), bool)
    return (steps >= _least_step_of_later_segments(steps, segments)) | _repeated(steps, segments)


def _ascend(steps: Ints) -> bool:
    """Return whether no step repeats or goes back, as in nearly all runs: then no point is overwritten."""
    return bool((steps[1:] > steps[:-1]).all())


def _least_step_of_later_segments(steps: Ints, segments: Ints) -> Ints:
    starts = np.r_[0, np.flatnonzero(np.diff(segments)) + 1]
    lowest = np.minimum.reduceat(steps, starts)
    later = np.r_[np.minimum.accumulate(lowest[::-1])[::-1][1:], np.iinfo(np.int64).max]
    counts = np.diff(np.r_[starts, len(steps)])
    return np.repeat(later, counts)


def _repeated(steps: Ints, segments: Ints) -> NDArray[np.bool_]:
    order = np.lexsort((np.arange(len(steps)), steps, segments))
    same = (np.diff(steps[order]) == 0) & (np.diff(segments[order]) == 0)
    out = np.zeros(len(steps), bool)
    out[order[:-1][same]] = True
    return out


AXIS_KEYS = {"step": None, "wall": TIMES, "relative": TIMES}
"""Key that stores an axis's value of each record, by axis; None for the step. A counter has a key of its own."""
X_AXES = ("step", "wall", "relative", *COUNTERS)


@dataclass(frozen=True)
class Curve:
    """Curve of one key of one run: points in the order of the processes that wrote them, ascending in x within each.

    x, y: float64[n]; y may hold NaN (a gap) and ±Inf. overwritten: bool[n], True if a resume wrote these steps again;
    the other points ascend in step. points: their number before down-sampling. cursor: the newest batch that they come
    from.
    """

    run_id: int
    key: str
    x: Floats
    y: Floats
    overwritten: NDArray[np.bool_]
    points: int
    cursor: int = 0


Lines: TypeAlias = dict[Progression, Floats]
Drawable: TypeAlias = tuple[Curve, Ints | None]
"""Curve, and the piece of line to which each point belongs; None if all points form one line."""


def read(
    runs: Sequence[Run],
    keys: Sequence[str],
    x: str = "step",
    px: int | None = None,
    zoom: Span | None = None,
    *,
    span: Span | None = None,
) -> list[Curve]:
    """Return curves by run, then key, in the order given, without pairs that have no point. One query, however many.

    x: step, wall (Unix seconds), relative (seconds since the run's first point), or a counter: tokens, samples,
    gpu_seconds; points of records without that counter, or with a time that is no Unix seconds, are left out.
    px: width in pixels of the chart that all curves share: each curve is down-sampled so that its line looks the same
    (M4).
    zoom: the x range that is viewed, which gets as many pixels of its own.
    span: the x range of the chart; by default that of these curves.
    Raise ValueError for an unknown x, MemoryBusy if too many points are read at the same time.
    """
    if x not in X_AXES:
        raise ValueError(f"x must be one of {', '.join(X_AXES)}, not {x!r}")
    start_read()
    order, requested_keys = list(dict.fromkeys(run.pk for run in runs)), list(dict.fromkeys(keys))
    axis = AXIS_KEYS.get(x, AXES + x)
    zero = first_times(order) if x == "relative" else {}
    keys_to_read = list(dict.fromkeys([*requested_keys, *([] if axis is None else [axis])]))
    lines: Lines = {}
    drawables = {
        run_id: [
            _drawable(run_id, key, points, axis, zero.get(run_id, 0.0), lines)
            for key in requested_keys
            if key in points
        ]
        for run_id, points in read_points(order, keys_to_read)
    }
    curves = [drawable for run_id in order for drawable in drawables.get(run_id, ()) if drawable[0].points]
    return _downsample_curves(curves, px, zoom, span) if px else [curve for curve, _ in curves]


def keys(run: Run) -> list[str]:
    """Return the keys of which the run has points, sorted, without its x axes."""
    return list(run.series.exclude(key__startswith=AXES).order_by("key").values_list("key", flat=True))


def recorded_keys(runs: Sequence[Run]) -> list[str]:
    """Return the keys of which any of the runs has points, sorted, without the x axes. One query."""
    series = Series.objects.filter(run__in=[run.pk for run in runs]).exclude(key__startswith=AXES)
    return list(series.order_by("key").values_list("key", flat=True).distinct())


def cursor(run: Run) -> int:
    """Return the newest batch of the run; 0 if there is none.

    A page that shows all batches up to this one requests those after it.
    """
    return newest(run.pk)


def newest(run_id: int) -> int:
    """Return the newest batch of the run with this primary key; 0 if there is none."""
    return newest_batches([run_id]).get(run_id, 0)


def newest_batches(runs: Sequence[int]) -> dict[int, int]:
    """Return run id -> its newest batch, for the runs that have one."""
    loose = Batch.objects.filter(run__in=runs).values_list("run_id").annotate(newest=Max("id")).order_by()
    chunks = Chunk.objects.filter(run__in=runs).values_list("run_id").annotate(newest=Max("cursor")).order_by()
    # Sorted by the batch, so that of a run's two the newer one stays.
    return dict(sorted(loose.union(chunks), key=lambda row: row[1]))


def compacted(run_id: int) -> int:
    """Return the newest batch that is in chunks; 0 if there is none.

    `since` cannot return what follows an older cursor.
    """
    return Chunk.objects.filter(run_id=run_id).aggregate(newest=Max("cursor"))["newest"] or 0


def since(run_id: int, after: int, batches: int = 50) -> list[tuple[int, Block]]:
    """Return the next batches of a run after a cursor, oldest first, as (cursor, points). Repeat until none come.

    Batches that are `compacted` are no longer there.
    """
    rows = Batch.objects.filter(run_id=run_id, id__gt=after).order_by("id")[:batches]
    return [(row.pk, unpack(row.keys, row.data)) for row in rows]


def backlog(run_id: int, after: int) -> int:
    """Return the packed bytes of the batches after a cursor."""
    packed = Batch.objects.filter(run_id=run_id, id__gt=after).aggregate(size=Sum(Length("data")))["size"]
    return packed or 0


def latest(runs: Sequence[Run]) -> dict[int, dict[str, float]]:
    """Return run id -> key -> its newest value, from the summaries, without reading points. Axes are included."""
    out: dict[int, dict[str, float]] = {run.pk: {} for run in runs}
    rows = Series.objects.filter(run_id__in=list(out)).order_by("key").values_list("run_id", "key", "last_value")
    for run_id, key, value in rows:
        out[run_id][key] = value
    return out


def _drawable(
    run_id: int, key: str, points: Mapping[str, SeriesPoints], axis: str | None, zero: float, lines: Lines
) -> Drawable:
    """Return the curve of a key along its steps, or along an axis, with x counted from `zero`.

    On an axis, the x of a point is its record's value of that axis, and NaN if the record has none.
    """
    if axis is None:
        return _by_step(run_id, key, points[key], lines)
    axis_points = points.get(axis)
    if axis_points is None:
        return _whole(run_id, key, points[key], np.full(len(points[key]), np.nan))
    x_values = axis_points.at(points[key])
    return _whole(run_id, key, points[key], (known_times(x_values) if axis == TIMES else x_values) - zero)


def _by_step(run_id: int, key: str, points: SeriesPoints, lines: Lines) -> Drawable:
    """Return a curve along its steps.

    If the steps ascend as a progression, no point is overwritten, and runs share their x.
    """
    line = points.line
    if line is None or not line.ascends:
        return _whole(run_id, key, points, points.steps.astype(np.float64))
    if line not in lines:
        lines[line] = line.to_array().astype(np.float64)
        lines[line].flags.writeable = False
    grey = np.zeros(line.n, bool)
    return Curve(run_id, key, lines[line], points.values, grey, line.n, points.cursor), None


def _whole(run_id: int, key: str, points: SeriesPoints, x: Floats) -> Drawable:
    """Return a curve with all its points that have an x, and the piece of line to which each belongs."""
    segments, steps, y = points.segments, points.steps, points.values
    grey = np.zeros(len(steps), bool) if key.startswith(CLOCK_PREFIX) else overwritten(steps, segments)
    if not _ascends(x, segments):
        placed = np.flatnonzero(~np.isnan(x))
        order = placed[np.lexsort((x[placed], segments[placed]))]
        x, y, grey, segments = x[order], y[order], grey[order], segments[order]
    return Curve(run_id, key, x, y, grey, len(x), points.cursor), 2 * segments + grey


def _ascends(x: Floats, segments: Ints) -> bool:
    """Return whether every point has an x and x ascends within each segment, as in records written in order."""
    return bool(((x[1:] >= x[:-1]) | (segments[1:] != segments[:-1])).all()) and not np.isnan(x).any()


def _downsample_curves(curves: list[Drawable], px: int, zoom: Span | None, span: Span | None) -> list[Curve]:
    """Return all curves, down-sampled to the pixel columns of one chart."""
    if not curves:
        return []
    span = span or (min(float(c.x.min()) for c, _ in curves), max(float(c.x.max()) for c, _ in curves))
    return [_thinned(curve, pieces, px, span, zoom) for curve, pieces in curves]


def _thinned(curve: Curve, pieces: Ints | None, px: int, span: Span, zoom: Span | None) -> Curve:
    indices = m4(curve.x, curve.y, px, span, pieces, zoom)
    x, y, grey = curve.x[indices], curve.y[indices], curve.overwritten[indices]
    return Curve(curve.run_id, curve.key, x, y, grey, curve.points, curve.cursor)


def cursors(runs: Sequence[Run]) -> dict[str, int]:
    """Return uid -> newest batch of each run. Call it before its points are read, so that no batch is missed."""
    newest_by_run = metrics.newest_batches([run.pk for run in runs])
    return {run.uid: newest_by_run.get(run.pk, 0) for run in runs}
