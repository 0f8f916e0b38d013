"""Batches -> curves: many runs and keys in one question, along any x axis, down-sampled exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Max, Sum
from django.db.models.functions import Length
from numpy.typing import NDArray

from runs.models import Batch, Run, Series
from runs.series.downsample import Span, m4
from runs.series.overwriting import overwritten
from runs.series.packing import AXES, Block, Floats, Ints, unpack

COUNTERS = ("tokens", "samples", "gpu_seconds")
BY_THE_CLOCK = "system/"
"""Such keys are measured by the clock, often several times a step: one does not say again what another has said."""
X_AXES = ("step", "wall", "relative", *COUNTERS)


@dataclass(frozen=True)
class Curve:
    """One key of one run. Points stand in the order of the processes that wrote them, ascending in x within each.

    x, y: float64[n]; y may hold NaN (a gap) and ±Inf. overwritten: bool[n], a resume went over these again; the others
    ascend in step. points: how many there are before down-sampling. cursor: the newest batch that they come from.
    """

    run_id: int
    key: str
    x: Floats
    y: Floats
    overwritten: NDArray[np.bool_]
    points: int
    cursor: int = 0


@dataclass
class _Pieces:
    """The columns of one curve while its batches are read."""

    segments: list[int] = field(default_factory=list)
    steps: list[Ints] = field(default_factory=list)
    x: list[Floats] = field(default_factory=list)
    y: list[Floats] = field(default_factory=list)
    cursor: int = 0


def read(runs: Sequence[Run], keys: Sequence[str], x: str = "step", px: int | None = None) -> list[Curve]:
    """Curves by run, then key, in the order asked; a pair without a point is left out. Two queries, however many.

    x: step, wall (Unix seconds), relative (seconds since the run's first point), or a counter: tokens, samples,
    gpu_seconds; points whose record does not carry that counter have no place on it and are left out.
    px: width in pixels of the chart that all curves share: each is down-sampled so that its line looks the same (M4).
    Raises ValueError for an unknown x.
    """
    if x not in X_AXES:
        raise ValueError(f"x must be one of {', '.join(X_AXES)}, not {x!r}")
    wanted = list(dict.fromkeys(keys))
    zero = _first_times(runs) if x == "relative" else {}
    found: dict[tuple[int, str], _Pieces] = defaultdict(_Pieces)
    for run_id, segment, batch_id, points in _blocks(runs, wanted):
        across = _across(points, x, zero.get(run_id, 0.0))
        for key in wanted:
            _add(found[run_id, key], segment, batch_id, points, key, across)
    pairs = [(run.pk, key) for run in dict.fromkeys(runs) for key in wanted]
    whole = [_whole(run_id, key, found[run_id, key]) for run_id, key in pairs if found[run_id, key].y]
    curves = [(curve, segments) for curve, segments in whole if curve.points]
    return _drawn(curves, px) if px else [curve for curve, _ in curves]


def keys(run: Run) -> list[str]:
    """Keys that the run has points of, sorted, without its x axes."""
    return list(run.series.exclude(key__startswith=AXES).order_by("key").values_list("key", flat=True))


def cursor(run: Run) -> int:
    """The newest batch of the run: a page that shows all up to here asks for what comes after. 0: nothing yet."""
    return newest(run.pk)


def newest(run_id: int) -> int:
    """The newest batch of the run with this primary key; 0: nothing yet."""
    return Batch.objects.filter(run_id=run_id).aggregate(newest=Max("id"))["newest"] or 0


def since(run_id: int, after: int, batches: int = 50) -> list[tuple[int, Block]]:
    """The next batches of a run after a cursor, oldest first, as (cursor, points). Ask again until none come."""
    rows = Batch.objects.filter(run_id=run_id, id__gt=after).order_by("id")[:batches]
    return [(row.pk, unpack(row.keys, row.data)) for row in rows]


def backlog(run_id: int, after: int) -> int:
    """Packed bytes of the batches after a cursor."""
    packed = Batch.objects.filter(run_id=run_id, id__gt=after).aggregate(size=Sum(Length("data")))["size"]
    return packed or 0


def latest(runs: Sequence[Run]) -> dict[int, dict[str, float]]:
    """run id -> key -> its newest value, from the summaries: no point is read. Axes included."""
    out: dict[int, dict[str, float]] = {run.pk: {} for run in runs}
    rows = Series.objects.filter(run_id__in=list(out)).order_by("key").values_list("run_id", "key", "last_value")
    for run_id, key, value in rows:
        out[run_id][key] = value
    return out


def _blocks(runs: Iterable[Run], wanted: Sequence[str]) -> Iterator[tuple[int, int, int, Block]]:
    """(run, segment, batch, points) in the order written, which need not be the order stored."""
    rows = Batch.objects.filter(run__in=[r.pk for r in runs], keys__overlap=wanted).values_list(
        "run_id", "attempt__n", "epoch", "first_seq", "id", "keys", "data"
    )
    segments: dict[tuple[int, int, int], int] = {}
    for run_id, n, epoch, _, batch_id, names, data in sorted(rows, key=lambda row: row[:4]):
        segment = segments.setdefault((run_id, n, epoch), len(segments))
        yield run_id, segment, batch_id, unpack(names, data)


def _first_times(runs: Iterable[Run]) -> dict[int, float]:
    rows = Batch.objects.filter(run__in=[r.pk for r in runs]).order_by("run_id", "id").distinct("run_id")
    return {row.run_id: float(unpack(row.keys, row.data).t.min()) for row in rows}


def _across(points: Block, x: str, zero: float) -> Floats:
    """The x of each record of a block, NaN where it has none."""
    if x == "step":
        return points.steps.astype(np.float64)
    if x in ("wall", "relative"):
        return points.t - zero
    out = np.full(len(points.steps), np.nan)
    rows, values = points.column(AXES + x)
    out[rows] = values
    return out


def _add(pieces: _Pieces, segment: int, batch_id: int, points: Block, key: str, across: Floats) -> None:
    rows, values = points.column(key)
    if len(rows):
        pieces.segments.append(segment)
        pieces.steps.append(points.steps[rows])
        pieces.x.append(across[rows])
        pieces.y.append(values)
        pieces.cursor = max(pieces.cursor, batch_id)


def _whole(run_id: int, key: str, pieces: _Pieces) -> tuple[Curve, Ints]:
    """A curve with all its points, and the segment of each."""
    segments = np.repeat(np.array(pieces.segments, np.int64), [len(y) for y in pieces.y])
    steps, x, y = np.concatenate(pieces.steps), np.concatenate(pieces.x), np.concatenate(pieces.y)
    grey = np.zeros(len(steps), bool) if key.startswith(BY_THE_CLOCK) else overwritten(steps, segments)
    placed = np.flatnonzero(~np.isnan(x))
    order = placed[np.lexsort((x[placed], segments[placed]))]
    return Curve(run_id, key, x[order], y[order], grey[order], len(order), pieces.cursor), segments[order]


def _drawn(curves: list[tuple[Curve, Ints]], px: int) -> list[Curve]:
    """All curves on the pixel columns of one chart."""
    if not curves:
        return []
    span = min(float(c.x.min()) for c, _ in curves), max(float(c.x.max()) for c, _ in curves)
    return [_thinned(curve, segments, px, span) for curve, segments in curves]


def _thinned(curve: Curve, segments: Ints, px: int, span: Span) -> Curve:
    kept = m4(curve.x, curve.y, px, span, 2 * segments + curve.overwritten)
    x, y, grey = curve.x[kept], curve.y[kept], curve.overwritten[kept]
    return Curve(curve.run_id, curve.key, x, y, grey, curve.points, curve.cursor)
