"""Reading of all points of a key: chunks, and the batches that no chunk holds yet, as one column built on access.

A single statement sees one snapshot of the database, so that points which move into a chunk meanwhile are read once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, groupby
from math import nan
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from django.db import connection
from numpy.typing import NDArray
from psycopg import Cursor

from runs.metrics.chunks import POINTS, TIMES, Packed, columns_of, unpack_chunk
from runs.metrics.memory import POINT_BYTES, take_memory
from runs.metrics.packing import Floats, Ints, Progression, unpack
from runs.metrics.times import are_times
from runs.models import Batch, Chunk
from workers.records.times import is_time

ROWS_SQL = """
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
class SeriesPoints:
    """All `n` points of a key of a run, in the order of the processes that wrote them. `numbers` holds the ascending
    number of each part's process (attempt and epoch). cursor: the newest batch that the points come from."""

    parts: tuple[Part, ...]
    numbers: tuple[int, ...]
    cursor: int

    @classmethod
    def from_parts(cls, parts_by_process: Sequence[tuple[int, int, Part]]) -> SeriesPoints:
        """Build it from (process, cursor, points) triples, at least one."""
        numbers, cursors, parts = zip(*parts_by_process, strict=True)
        return cls(parts, numbers, max(cursors))

    def __len__(self) -> int:
        return self._ends[-1]

    @cached_property
    def segments(self) -> Ints:
        """Return int64[n]: the process that wrote each point."""
        return np.repeat(np.array(self.numbers, np.int64), [len(part) for part in self.parts])

    @cached_property
    def records(self) -> Ints:
        """Return int64[n]: the number of each point's record in its epoch."""
        return self._column("records", np.int64)

    @cached_property
    def steps(self) -> Ints:
        """Return int64[n]: the step of each point."""
        return self.line.to_array() if self.line else self._column("steps", np.int64)

    @cached_property
    def values(self) -> Floats:
        """Return float64[n]: the value of each point."""
        return self._column("values", np.float64)

    @cached_property
    def line(self) -> Progression | None:
        """Return the steps as a progression, without reading points; None if not one, or if several processes wrote."""
        if self.numbers[0] != self.numbers[-1]:
            return None
        return reduce(_joined, (part.line for part in self.parts))

    def at(self, other: SeriesPoints) -> Floats:
        """Return float64[n]: this key's value in the record of each point of `other`; NaN if it has none."""
        out = np.full(len(other), np.nan)
        for segment in dict.fromkeys(other.numbers):
            own_part, other_part = _part(self.segments, segment), _part(other.segments, segment)
            out[other_part] = _values_at_records(
                self.records[own_part], self.values[own_part], other.records[other_part]
            )
        return out

    @cached_property
    def _ends(self) -> list[int]:
        ends: list[int] = np.cumsum([len(part) for part in self.parts]).tolist()
        return ends

    def _column(self, name: str, kind: type[np.generic]) -> NDArray[Any]:
        """Build a column in one array, part by part, so that nothing is copied twice."""
        out, start = np.empty(len(self), kind), 0
        for part, end in zip(self.parts, self._ends, strict=True):
            out[start:end] = getattr(part, name)
            start = end
        return out


def _joined(before: Progression | None, after: Progression | None) -> Progression | None:
    return before.joined(after) if before and after else None


def _part(segments: Ints, segment: int) -> slice:
    return slice(*np.searchsorted(segments, [segment, segment + 1]).tolist())


def _values_at_records(records: Ints, values: Floats, requested_records: Ints) -> Floats:
    """Return the values of the requested records, both ascending; NaN for records without a value."""
    # Usually every record has every key: this saves a million look-ups.
    if np.array_equal(records, requested_records):
        return values
    indices = np.searchsorted(records, requested_records)
    has = indices < len(records)
    has[has] = records[indices[has]] == requested_records[has]
    out = np.full(len(requested_records), np.nan)
    out[has] = values[indices[has]]
    return out


RECORDS_PER_ROW = 16 * POINTS
"""Records whose chunks come as one row, because the cost is per row, not per chunk."""
Position: TypeAlias = tuple[int, int, int]
"""Position of points: number of the attempt, epoch, first record."""


class Row(NamedTuple):
    """Chunks of one key, concatenated in `data`; or a batch, which has no `key`, but the `names` of its keys."""

    run_id: int
    attempt: int
    epoch: int
    cursor: int
    key: str | None
    names: list[str] | None
    first_seqs: list[int]
    sizes: list[int]
    data: bytes

    def parts(self, keys: Sequence[str]) -> Iterator[tuple[Position, str, Part]]:
        """Yield (position, key, points) of these keys."""
        end = 0
        for first_seq, size in zip(self.first_seqs, self.sizes, strict=True):
            start, end = end, end + size
            position = (self.attempt, self.epoch, first_seq)
            if self.key is not None:
                yield position, self.key, Packed.open(memoryview(self.data)[start:end])
            else:
                columns = columns_of(unpack(self.names or (), self.data), first_seq, keys)
                yield from ((position, name, points) for name, points in columns)


def read_points(runs: Sequence[int], keys: Sequence[str]) -> Iterator[tuple[int, dict[str, SeriesPoints]]]:
    """Yield (run id, key -> its points) of the runs that have any, by id. Key `TIMES` gives the times, Unix seconds.

    Runs are yielded as they arrive, so a caller that retains only its results reuses the memory of the previous run.
    The connection is busy until the last run has arrived.
    """
    for run_id, rows in groupby(_rows(runs, keys), key=attrgetter("run_id")):
        parts_in_order = sorted((part for row in rows for part in _parts(row, keys)), key=itemgetter(0))
        parts: dict[str, list[tuple[int, int, Part]]] = defaultdict(list)
        segments: dict[tuple[int, int], int] = {}
        for (attempt, epoch, _), key, points, cursor in parts_in_order:
            parts[key].append((segments.setdefault((attempt, epoch), len(segments)), cursor, points))
        yield run_id, {key: SeriesPoints.from_parts(own) for key, own in parts.items()}


def _parts(row: Row, keys: Sequence[str]) -> list[tuple[Position, str, Part, int]]:
    """Return (position, key, points, cursor) of these keys, for which memory is taken. Raise MemoryBusy."""
    parts = [(*part, row.cursor) for part in row.parts(keys)]
    take_memory(len(row.data) + POINT_BYTES * sum(len(points) for _, _, points, _ in parts))
    return parts


def first_times(runs: Sequence[int]) -> dict[int, float]:
    """Return run id -> time of its first point of any key, Unix seconds, for the runs that have a time.

    The oldest batches are compacted first.
    """
    rows = Batch.objects.filter(run__in=runs).order_by("run_id", "id").distinct("run_id")
    first = {row.run_id: float(unpack(row.keys, row.data).t.min()) for row in rows}
    chunks = Chunk.objects.filter(run__in=runs, key=TIMES).order_by("run_id", "cursor", "id").distinct("run_id")
    first |= {run_id: nan if time is None else time for run_id, time in chunks.values_list("run_id", "min_value")}
    # A few runs began with times in another unit: all of their points are read.
    times = {run_id: time if is_time(time) else _first_known_time(run_id) for run_id, time in first.items()}
    return {run_id: time for run_id, time in times.items() if time is not None}


def _first_known_time(run_id: int) -> float | None:
    """Return the least time of the oldest batch or chunk of a run that has any; None if none has."""
    chunks = Chunk.objects.filter(run=run_id, key=TIMES).order_by("cursor", "id").values_list("data", flat=True)
    batches = Batch.objects.filter(run=run_id).order_by("id").values_list("keys", "data")
    parts = chain(
        (unpack_chunk(bytes(data)).values for data in chunks.iterator()),
        (unpack(keys, data).t for keys, data in batches.iterator()),
    )
    return next((float(t[mask].min()) for t in parts if (mask := are_times(t)).any()), None)


def _rows(runs: Sequence[int], keys: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of ROWS_SQL as they arrive: COPY neither buffers tens of megabytes nor converts them to text."""
    connection.ensure_connection()
    params = {"runs": list(runs), "keys": list(keys), "together": RECORDS_PER_ROW}
    with Cursor(connection.connection) as sql, sql.copy(ROWS_SQL, params) as copy:
        copy.set_types(TYPES)
        yield from (Row(*row) for row in copy.rows())
