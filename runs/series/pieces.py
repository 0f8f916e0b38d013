"""Rows of the database -> what was written of a key: chunks and the batches that no chunk holds yet, in one question.

One statement sees the database at one moment, so that points which move into a chunk meanwhile are seen once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection
from psycopg import Cursor

from runs.models import Batch, Chunk
from runs.series.chunks import TIMES, Packed, columns_of
from runs.series.packing import unpack
from runs.series.written import Part, Written

PIECES = """
COPY (
    SELECT c.run_id, a.n, c.epoch, c.first_seq, c.cursor, c.key, NULL::text[], c.data
    FROM runs_chunk c JOIN runs_attempt a ON a.id = c.attempt_id
    WHERE c.run_id = ANY(%(runs)s) AND c.key = ANY(%(keys)s)
    UNION ALL
    SELECT b.run_id, a.n, b.epoch, b.first_seq, b.id, NULL, b.keys, b.data
    FROM runs_batch b JOIN runs_attempt a ON a.id = b.attempt_id
    WHERE b.run_id = ANY(%(runs)s) AND b.keys && %(keys)s
    ORDER BY 1, 2, 3, 4
) TO STDOUT (FORMAT BINARY)
"""
TYPES = ("int8", "int4", "int4", "int8", "int8", "text", "text[]", "bytea")


def written(runs: Sequence[int], keys: Sequence[str]) -> dict[tuple[int, str], Written]:
    """(run id, key) -> its points, of those that have any. Key `TIMES` gives the times, Unix seconds."""
    parts: dict[tuple[int, str], list[tuple[int, int, Part]]] = defaultdict(list)
    segments: dict[tuple[int, int, int], int] = {}
    for run_id, n, epoch, first_seq, cursor, key, names, data in _rows(runs, keys):
        segment = segments.setdefault((run_id, n, epoch), len(segments))
        loose = key is None
        for name, points in columns_of(unpack(names, data), first_seq, keys) if loose else [(key, Packed.open(data))]:
            parts[run_id, name].append((segment, cursor, points))
    return {pair: Written.of(found) for pair, found in parts.items()}


def first_times(runs: Sequence[int]) -> dict[int, float]:
    """run id -> the time of its first point of any key, Unix seconds. The oldest batches are the first in chunks."""
    rows = Batch.objects.filter(run__in=runs).order_by("run_id", "id").distinct("run_id")
    loose = {row.run_id: float(unpack(row.keys, row.data).t.min()) for row in rows}
    chunks = Chunk.objects.filter(run__in=runs, key=TIMES).order_by("run_id", "cursor", "id").distinct("run_id")
    return loose | {run_id: time for run_id, time in chunks.values_list("run_id", "min_value") if time is not None}


def _rows(runs: Sequence[int], keys: Sequence[str]) -> Iterator[Any]:
    """The rows of PIECES as they come: a copy neither gathers the answer, tens of megabytes, nor makes text of it."""
    connection.ensure_connection()
    with Cursor(connection.connection) as sql, sql.copy(PIECES, {"runs": list(runs), "keys": list(keys)}) as answer:
        answer.set_types(TYPES)
        yield from answer.rows()
