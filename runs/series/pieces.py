"""Rows of the database -> what was written of a key: chunks and the batches that no chunk holds yet, in one question.

One statement sees the database at one moment, so that points which move into a chunk meanwhile are seen once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from psycopg import Cursor
from psycopg.pq import Format

from runs.models import Batch, Chunk
from runs.series.chunks import TIMES, Column, columns_of, join, unpack_chunk
from runs.series.packing import Floats, Ints, unpack

PIECES = """
SELECT c.run_id, a.n, c.epoch, c.first_seq, c.cursor, c.key, NULL::text[], c.data
FROM runs_chunk c JOIN runs_attempt a ON a.id = c.attempt_id WHERE c.run_id = ANY(%(runs)s) AND c.key = ANY(%(keys)s)
UNION ALL
SELECT b.run_id, a.n, b.epoch, b.first_seq, b.id, NULL, b.keys, b.data
FROM runs_batch b JOIN runs_attempt a ON a.id = b.attempt_id WHERE b.run_id = ANY(%(runs)s) AND b.keys && %(keys)s
"""


@dataclass(frozen=True)
class Written:
    """All points of one key of one run, in the order of the processes that wrote them; `segments` int64[n] numbers
    those processes (attempt and epoch), ascending. cursor: the newest batch that the points come from."""

    segments: Ints
    points: Column
    cursor: int

    def at(self, other: Written) -> Floats:
        """The value here of the record of each of the other's points, float64[n]; NaN where that record has none."""
        out = np.full(len(other.segments), np.nan)
        for segment in np.unique(other.segments):
            mine, theirs = _part(self.segments, segment), _part(other.segments, segment)
            records, wanted = self.points.records[mine], other.points.records[theirs]
            places = np.searchsorted(records, wanted)
            has = places < len(records)
            has[has] = records[places[has]] == wanted[has]
            out[theirs][has] = self.points.values[mine][places[has]]
        return out


def written(runs: Sequence[int], keys: Sequence[str]) -> dict[tuple[int, str], Written]:
    """(run id, key) -> its points, of those that have any. Key `TIMES` gives the times, Unix seconds."""
    parts: dict[tuple[int, str], list[tuple[int, int, Column]]] = defaultdict(list)
    segments: dict[tuple[int, int, int], int] = {}
    for run_id, n, epoch, first_seq, cursor, key, names, data in sorted(_rows(runs, keys), key=lambda row: row[:4]):
        segment = segments.setdefault((run_id, n, epoch), len(segments))
        found = columns_of(unpack(names, data), first_seq, keys) if key is None else [(key, unpack_chunk(data))]
        for name, points in found:
            parts[run_id, name].append((segment, cursor, points))
    return {pair: _joined(found) for pair, found in parts.items()}


def first_times(runs: Sequence[int]) -> dict[int, float]:
    """run id -> the time of its first point of any key, Unix seconds. The oldest batches are the first in chunks."""
    rows = Batch.objects.filter(run__in=runs).order_by("run_id", "id").distinct("run_id")
    loose = {row.run_id: float(unpack(row.keys, row.data).t.min()) for row in rows}
    chunks = Chunk.objects.filter(run__in=runs, key=TIMES).order_by("run_id", "cursor", "id").distinct("run_id")
    return loose | {run_id: time for run_id, time in chunks.values_list("run_id", "min_value") if time is not None}


def _rows(runs: Sequence[int], keys: Sequence[str]) -> list[Any]:
    """The rows of PIECES, over a cursor of their own: Django's know results as text alone, two bytes for each."""
    connection.ensure_connection()
    with Cursor(connection.connection) as sql:
        sql.format = Format.BINARY
        return sql.execute(PIECES, {"runs": list(runs), "keys": list(keys)}).fetchall()


def _joined(parts: Sequence[tuple[int, int, Column]]) -> Written:
    counts = [len(points) for _, _, points in parts]
    segments = np.repeat(np.array([segment for segment, _, _ in parts], np.int64), counts)
    return Written(segments, join([points for _, _, points in parts]), max(cursor for _, cursor, _ in parts))


def _part(segments: Ints, segment: int) -> slice:
    return slice(*np.searchsorted(segments, [segment, segment + 1]).tolist())
