"""Rows of the database -> what was written of a key: chunks and the batches that no chunk holds yet, in one question.

One statement sees the database at one moment, so that points which move into a chunk meanwhile are seen once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeAlias

from django.db import connection
from psycopg import Cursor

from runs.metrics.chunks import POINTS, TIMES, Packed, columns_of
from runs.metrics.packing import unpack
from runs.metrics.segments import Part, Written
from runs.models import Batch, Chunk

PIECES = """
COPY (
    SELECT c.run_id, a.n, c.epoch, max(c.cursor), c.key, NULL::text[], array_agg(c.first_seq ORDER BY c.first_seq),
        array_agg(length(c.data) ORDER BY c.first_seq), string_agg(c.data, '' ORDER BY c.first_seq)
    FROM runs_chunk c JOIN runs_attempt a ON a.id = c.attempt_id
    WHERE c.run_id = ANY(%(runs)s) AND c.key = ANY(%(keys)s)
    GROUP BY c.run_id, a.n, c.epoch, c.key, c.first_seq / %(together)s
    UNION ALL
    SELECT b.run_id, a.n, b.epoch, b.id, NULL, b.keys, ARRAY[b.first_seq], ARRAY[length(b.data)], b.data
    FROM runs_batch b JOIN runs_attempt a ON a.id = b.attempt_id
    WHERE b.run_id = ANY(%(runs)s) AND b.keys && %(keys)s
    ORDER BY 1
) TO STDOUT (FORMAT BINARY)
"""
TYPES = ("int8", "int4", "int4", "int8", "text", "text[]", "int8[]", "int4[]", "bytea")
TOGETHER = 16 * POINTS
"""Records whose chunks come as one row: what a row costs, a chunk of it does not."""

Place: TypeAlias = tuple[int, int, int]
"""Number of the attempt, epoch, first record."""


class Row(NamedTuple):
    """Chunks of one key, one after the other in `data`; or a batch, which has no `key` and `names` of its own."""

    run_id: int
    attempt: int
    epoch: int
    cursor: int
    key: str | None
    names: list[str] | None
    first_seqs: list[int]
    sizes: list[int]
    data: bytes

    def parts(self, keys: Sequence[str]) -> Iterator[tuple[Place, str, Part]]:
        """(where it belongs, key, points) of these keys."""
        end = 0
        for first_seq, size in zip(self.first_seqs, self.sizes, strict=True):
            start, end = end, end + size
            place = (self.attempt, self.epoch, first_seq)
            if self.key is not None:
                yield place, self.key, Packed.open(memoryview(self.data)[start:end])
            else:
                columns = columns_of(unpack(self.names or (), self.data), first_seq, keys)
                yield from ((place, name, points) for name, points in columns)


def written(runs: Sequence[int], keys: Sequence[str]) -> Iterator[tuple[int, dict[str, Written]]]:
    """(run id, key -> its points) of the runs that have any, by id. Key `TIMES` gives the times, Unix seconds.

    Run after run, as they come: who keeps only what is made of one has room for the next where the last one lay. The
    connection is busy until the last has come.
    """
    for run_id, rows in groupby(_rows(runs, keys), key=attrgetter("run_id")):
        found = sorted(((*part, row.cursor) for row in rows for part in row.parts(keys)), key=itemgetter(0))
        parts: dict[str, list[tuple[int, int, Part]]] = defaultdict(list)
        segments: dict[tuple[int, int], int] = {}
        for (attempt, epoch, _), key, points, cursor in found:
            parts[key].append((segments.setdefault((attempt, epoch), len(segments)), cursor, points))
        yield run_id, {key: Written.of(own) for key, own in parts.items()}


def first_times(runs: Sequence[int]) -> dict[int, float]:
    """run id -> the time of its first point of any key, Unix seconds. The oldest batches are the first in chunks."""
    rows = Batch.objects.filter(run__in=runs).order_by("run_id", "id").distinct("run_id")
    loose = {row.run_id: float(unpack(row.keys, row.data).t.min()) for row in rows}
    chunks = Chunk.objects.filter(run__in=runs, key=TIMES).order_by("run_id", "cursor", "id").distinct("run_id")
    return loose | {run_id: time for run_id, time in chunks.values_list("run_id", "min_value") if time is not None}


def _rows(runs: Sequence[int], keys: Sequence[str]) -> Iterator[Row]:
    """The rows of PIECES as they come: a copy neither gathers the answer, tens of megabytes, nor makes text of it."""
    connection.ensure_connection()
    asked = {"runs": list(runs), "keys": list(keys), "together": TOGETHER}
    with Cursor(connection.connection) as sql, sql.copy(PIECES, asked) as answer:
        answer.set_types(TYPES)
        yield from (Row(*row) for row in answer.rows())
