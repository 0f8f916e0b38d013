"""Read what was written of a key: chunks, and the batches that no chunk holds yet, as one column built when it is used.

One statement sees the database at one moment, so that points which move into a chunk meanwhile are seen once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from django.db import connection
from numpy.typing import NDArray
from psycopg import Cursor

from runs.metrics.chunks import POINTS, TIMES, Packed, columns_of
from runs.metrics.packing import Floats, Ints, Progression, unpack
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


class Part(Protocol):
    """Points in the order written: a batch's column, or a chunk that is still packed."""

    def __len__(self) -> int: ...
    @property
    def records(self) -> Ints: ...
    @property
    def steps(self) -> Ints: ...
    @property
    def line(self) -> Progression | None: ...
    @property
    def values(self) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Written:
    """All `n` points of one key of one run, in the order of the processes that wrote them; `numbers` says of each part
    which process (attempt and epoch) that was, ascending. cursor: the newest batch that the points come from."""

    parts: tuple[Part, ...]
    numbers: tuple[int, ...]
    cursor: int

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, Part]]) -> Written:
        """Out of (process, cursor, points), at least one."""
        numbers, cursors, parts = zip(*found, strict=True)
        return cls(parts, numbers, max(cursors))

    def __len__(self) -> int:
        return self._ends[-1]

    @cached_property
    def segments(self) -> Ints:
        """int64[n]: the process that wrote each point."""
        return np.repeat(np.array(self.numbers, np.int64), [len(part) for part in self.parts])

    @cached_property
    def records(self) -> Ints:
        """int64[n]: the number of each point's record in its epoch."""
        return self._column("records", np.int64)

    @cached_property
    def steps(self) -> Ints:
        """int64[n]."""
        return self.line.written_out() if self.line else self._column("steps", np.int64)

    @cached_property
    def values(self) -> Floats:
        """float64[n]."""
        return self._column("values", np.float64)

    @cached_property
    def line(self) -> Progression | None:
        """The steps, where one process wrote all of them and they are a progression: known without a point read."""
        if self.numbers[0] != self.numbers[-1]:
            return None
        return reduce(_joined, (part.line for part in self.parts))

    def at(self, other: Written) -> Floats:
        """The value here of the record of each of the other's points, float64[n]; NaN where that record has none."""
        out = np.full(len(other), np.nan)
        for segment in dict.fromkeys(other.numbers):
            mine, theirs = _part(self.segments, segment), _part(other.segments, segment)
            out[theirs] = _found(self.records[mine], self.values[mine], other.records[theirs])
        return out

    @cached_property
    def _ends(self) -> list[int]:
        ends: list[int] = np.cumsum([len(part) for part in self.parts]).tolist()
        return ends

    def _column(self, name: str, kind: type[np.generic]) -> NDArray[Any]:
        """Into one piece of memory, part by part: nothing is copied twice."""
        out, start = np.empty(len(self), kind), 0
        for part, end in zip(self.parts, self._ends, strict=True):
            out[start:end] = getattr(part, name)
            start = end
        return out


def _joined(before: Progression | None, after: Progression | None) -> Progression | None:
    return before.joined(after) if before and after else None


def _part(segments: Ints, segment: int) -> slice:
    return slice(*np.searchsorted(segments, [segment, segment + 1]).tolist())


def _found(records: Ints, values: Floats, wanted: Ints) -> Floats:
    """The values of the records that are wanted, both ascending; NaN where there is none."""
    # As where every record has every key: a million look-ups less.
    if np.array_equal(records, wanted):
        return values
    places = np.searchsorted(records, wanted)
    has = places < len(records)
    has[has] = records[places[has]] == wanted[has]
    out = np.full(len(wanted), np.nan)
    out[has] = values[places[has]]
    return out


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
