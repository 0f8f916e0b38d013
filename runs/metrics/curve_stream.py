"""Curves one after another, and as JSON in pieces, so that a response of any size needs little memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import orjson
from django.db import connection
from numpy.typing import NDArray

from runs.metrics.downsample import Span
from runs.metrics.json_numbers import json_floats
from runs.metrics.memory import POINT_BYTES, Lease, budget
from runs.metrics.reading import Curve, read
from runs.models import Run, Series

MAX_POINTS_AT_ONCE = 100_000
"""Points of a response that is made as a whole, which takes about 5 MB."""
STREAM_PATIENCE_SECONDS = 60.0
"""The time that a response which has begun waits for memory."""
GROUP_POINTS = 500_000
"""Points that are read together, unless a single key has more."""
SLICE_POINTS = 8192
PIECE_BYTES = 256 * 1024
Describe = Callable[[Curve], dict[str, Any]]
Sizes = Mapping[tuple[int, str], int]
"""(Run id, key) -> number of points."""


def sizes(runs: Sequence[Run], keys: Sequence[str]) -> dict[tuple[int, str], int]:
    """Return (run id, key) -> number of points, from the summaries. One query."""
    rows = Series.objects.filter(run__in=[run.pk for run in runs], key__in=list(keys))
    return {(run_id, key): points for run_id, key, points in rows.values_list("run_id", "key", "points")}


def read_in_turn(
    runs: Sequence[Run], keys: Sequence[str], points: Sizes, x: str = "step", px: int | None = None
) -> Iterator[list[Curve]]:
    """Yield the curves of `read` in its order, a few at a time. Their memory is given back when the next are requested.

    With `px` all points are read twice: first for the x range that all curves share. Raise MemoryBusy.
    """
    groups = [(run, group) for run in dict.fromkeys(runs) for group in _groups(run, keys, points)]
    span = _span(groups, x) if px else None
    for run, group in groups:
        with _curves(run, group, x, px, span) as curves:
            yield curves


@contextmanager
def _curves(run: Run, keys: list[str], x: str, px: int | None, span: Span | None) -> Iterator[list[Curve]]:
    """Hold the curves in memory while the block runs, but no connection to the database."""
    lease = Lease(budget, STREAM_PATIENCE_SECONDS)
    try:
        with lease.active():
            curves = read([run], keys, x, px, span=span)
        if not connection.in_atomic_block:
            # The client may take long to receive this: others need the connection meanwhile.
            connection.close()
        yield curves
    finally:
        lease.give_back()


def _span(groups: list[tuple[Run, list[str]]], x: str) -> Span | None:
    """Return the lowest and the highest x of all curves; None if there are none."""
    ends: list[float] = []
    for run, keys in groups:
        with _curves(run, keys, x, None, None) as curves:
            ends += [end for curve in curves for end in (float(curve.x.min()), float(curve.x.max()))]
    return (min(ends), max(ends)) if ends else None


def _groups(run: Run, keys: Sequence[str], points: Sizes) -> Iterator[list[str]]:
    """Yield the keys in groups of about GROUP_POINTS points: batches that are not compacted are read for each group."""
    group: list[str] = []
    total = 0
    for key in dict.fromkeys(keys):
        size = points.get((run.pk, key), 0)
        if group and total + size > GROUP_POINTS:
            yield group
            group, total = [], 0
        group.append(key)
        total += size
    if group:
        yield group


def json_pieces(head: bytes, curves: Iterable[list[Curve]], describe: Describe) -> Generator[bytes, None, None]:
    """Yield `head`, the curves as the elements of a JSON list, and the end of the list and of its object.

    Pieces have about PIECE_BYTES. `describe` returns the fields that a curve's object begins with.
    """
    piece, comma = bytearray(head), b""
    for group in curves:
        for curve in group:
            piece += comma
            comma = b","
            for part in _curve(curve, describe(curve)):
                piece += part
                if len(piece) > PIECE_BYTES:
                    yield bytes(piece)
                    piece.clear()
    yield bytes(piece) + b"]}"


def _curve(curve: Curve, fields: dict[str, Any]) -> Iterator[bytes]:
    yield orjson.dumps(fields)[:-1]
    for name, column in (("x", curve.x), ("y", curve.y), ("overwritten", curve.overwritten)):
        yield b',"%s":[' % name.encode()
        yield from _column(column)
        yield b"]"
    yield b',"points":%d,"cursor":%d}' % (curve.points, curve.cursor)


def _column(column: NDArray[Any]) -> Iterator[bytes]:
    """Yield the elements of a JSON list."""
    for start in range(0, len(column), SLICE_POINTS):
        part = column[start : start + SLICE_POINTS]
        if part.dtype == np.bool_ or np.isfinite(part).all():
            text = orjson.dumps(np.ascontiguousarray(part), option=orjson.OPT_SERIALIZE_NUMPY)
        else:
            text = orjson.dumps(json_floats(part))
        yield (b"," if start else b"") + text[1:-1]


def needs_turns(points: Sizes, px: int | None) -> bool:
    """Return whether curves of these sizes must be read in turn: there are too many points to send or to read at
    once."""
    at_most = [min(size, 4 * px) if px else size for size in points.values()]
    return sum(at_most) > MAX_POINTS_AT_ONCE or sum(points.values()) * POINT_BYTES > budget.max_bytes
