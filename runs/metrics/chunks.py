"""Chunks: up to 4096 points of one key, columnar. A closed chunk is full and never changes again."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.metrics.packing import (
    Block,
    Data,
    Floats,
    Ints,
    Progression,
    decode_floats,
    decode_ints,
    encode_floats,
    encode_ints,
    progression,
    progression_of,
)

POINTS = 4096
VERSION = 1
HEADER = struct.Struct("<BIII")
TIMES = ""
"""Key that stores the times (Unix seconds) of all records: no metric has an empty name."""


@dataclass(frozen=True)
class Column:
    """`n` points of one key in the order written: `records` int64[n] counts the records of the epoch (ascending, so
    that keys measured together can be found together), `steps` int64[n], `values` float64[n]."""

    records: Ints
    steps: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: slice) -> Column:
        return Column(self.records[part], self.steps[part], self.values[part])

    @property
    def line(self) -> Progression | None:
        """Return the steps if they are a progression, else None."""
        return progression_of(self.steps)

    def cut(self) -> Iterator[Column]:
        """Yield the points as chunks, all but the last of them full."""
        return (self[start : start + POINTS] for start in range(0, len(self), POINTS))


def columns_of(block: Block, first_seq: int, keys: Iterable[str] | None = None) -> Iterator[tuple[str, Column]]:
    """Yield (key, points) of a batch, for these keys or for all, including `TIMES`. Records are numbered from the
    batch's first sequence number."""
    for key in [TIMES, *block.keys] if keys is None else keys:
        rows, values = block.column(key)
        if key == TIMES:
            rows, values = np.arange(len(block.t), dtype=np.uint32), block.t
        if len(rows):
            yield key, Column(first_seq + rows.astype(np.int64), block.steps[rows], values)


def join(parts: list[Column]) -> Column:
    """Concatenate columns of one key."""
    if len(parts) == 1:
        return parts[0]
    return Column(
        np.concatenate([part.records for part in parts]),
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def pack_chunk(points: Column) -> bytes:
    """Return a column as bytes: `<BIII` version, points, bytes of records, bytes of steps; then the three columns."""
    records, steps = encode_ints(points.records), encode_ints(points.steps)
    return HEADER.pack(VERSION, len(points), len(records), len(steps)) + records + steps + encode_floats(points.values)


def unpack_chunk(data: bytes) -> Column:
    """Return the column that `pack_chunk` has packed. Raise ValueError if the bytes are not a chunk."""
    try:
        packed = Packed.open(data)
        return Column(packed.records, packed.steps, packed.values.astype(np.float64, copy=False))
    except (struct.error, zlib.error, IndexError) as error:
        raise ValueError(f"not a chunk: {error}") from error


@dataclass(frozen=True)
class Packed:
    """A chunk of `n` points. Each column is unpacked on access: few charts need all three."""

    data: memoryview
    n: int
    steps_at: int
    values_at: int

    @classmethod
    def open(cls, data: Data) -> Packed:
        """Open a chunk. Raise ValueError if it has another version, struct.error if it is not a chunk."""
        version, n, of_records, of_steps = HEADER.unpack_from(data)
        if version != VERSION:
            raise ValueError(f"a chunk of version {version}; only {VERSION} is known")
        steps_at = HEADER.size + of_records
        return cls(memoryview(data), n, steps_at, steps_at + of_steps)

    def __len__(self) -> int:
        return self.n

    @property
    def records(self) -> Ints:
        return decode_ints(self.data[HEADER.size : self.steps_at], self.n)

    @property
    def steps(self) -> Ints:
        return decode_ints(self.data[self.steps_at : self.values_at], self.n)

    @property
    def line(self) -> Progression | None:
        """Return the steps if they are a progression, else None."""
        return progression(self.data[self.steps_at : self.values_at], self.n)

    @property
    def values(self) -> NDArray[Any]:
        """Return the values in their stored precision."""
        return decode_floats(self.data[self.values_at :], self.n)
