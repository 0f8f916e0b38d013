"""Pack points into bytes, lossless: the metric records of one flush, and single columns of numbers.

A flush is columnar, delta-coded, byte-shuffled and deflated: `<BIII` version, records, keys, cells; then zlib level 1
over, in this order: steps int64 and times float64 (each the differences of its bit patterns, shuffled), cells a key
uint32, the record of each cell uint32 (differences, shuffled), values float64 (shuffled). All little-endian.

A column is stored as it is in memory, which is quick to read, unless deflating halves it. Its first byte names its
encoding: a progression (first, step), differences of integers, floats as they are in 4 or 8 bytes, or their bit
patterns' differences, deflated. Charts read millions of values, so most values must need no inflating.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.records import Metric

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
VERSION = 1
HEADER = struct.Struct("<BIII")
AXES = "axes/"
WORTH_DEFLATING = 0.5
"""Largest deflated size, relative to the plain size, at which a column is deflated.

A smaller saving costs more in reading than it saves on the disk.
"""


@dataclass(frozen=True)
class Block:
    """Block of `n` metric records as columns: `steps` int64[n] and `t` float64[n] (Unix seconds).

    Key number k has the values `values[cuts[k]:cuts[k+1]]`, measured by the records `rows[cuts[k]:cuts[k+1]]`. Axes are
    keys `axes/<name>`.
    """

    keys: tuple[str, ...]
    steps: Ints
    t: Floats
    cuts: Ints
    rows: NDArray[np.uint32]
    values: Floats

    def column(self, key: str) -> tuple[NDArray[np.uint32], Floats]:
        """Return (records, values) of one key, in the order written; empty if the block has no such key."""
        if key not in self.keys:
            return self.rows[:0], self.values[:0]
        k = self.keys.index(key)
        cells = slice(self.cuts[k], self.cuts[k + 1])
        return self.rows[cells], self.values[cells]

    @property
    def cells(self) -> int:
        """Return how many values the block holds, axes included."""
        return len(self.values)


def block(metrics: Iterable[tuple[float, Metric]]) -> Block:
    """Return (time in Unix seconds, record) pairs, in the order written, as one Block with sorted keys."""
    steps: list[int] = []
    times: list[float] = []
    columns: dict[str, tuple[list[int], list[float]]] = {}
    for row, (t, metric) in enumerate(metrics):
        steps.append(metric.step)
        times.append(t)
        for key, value in (metric.values | {AXES + name: v for name, v in metric.axes.items()}).items():
            rows, values = columns.setdefault(key, ([], []))
            rows.append(row)
            values.append(value)
    return _joined(steps, times, sorted(columns.items()))


def _joined(steps: list[int], times: list[float], columns: list[tuple[str, tuple[list[int], list[float]]]]) -> Block:
    counts = [len(rows) for _, (rows, _) in columns]
    return Block(
        keys=tuple(key for key, _ in columns),
        steps=np.array(steps, np.int64),
        t=np.array(times, np.float64),
        cuts=np.cumsum([0, *counts], dtype=np.int64),
        rows=np.array([r for _, (rows, _) in columns for r in rows], np.uint32),
        values=np.array([v for _, (_, values) in columns for v in values], np.float64),
    )


def pack(points: Block) -> bytes:
    """Return a Block as bytes, without its keys.

    A row stores the keys in a separate column, where SQL can search them.
    """
    body = b"".join(
        (
            shuffle(differences(points.steps)),
            shuffle(differences(points.t.view(np.int64))),
            np.diff(points.cuts).astype("<u4").tobytes(),
            shuffle(differences(points.rows)),
            shuffle(points.values),
        )
    )
    return HEADER.pack(VERSION, len(points.steps), len(points.keys), points.cells) + zlib.compress(body, 1)


def unpack(keys: Iterable[str], data: bytes | memoryview) -> Block:
    """Return the Block that `pack` has packed. Raise ValueError if the bytes are not a packed Block of these keys."""
    names = tuple(keys)
    try:
        version, n, k, cells = HEADER.unpack_from(data)
        body = zlib.decompress(bytes(data)[HEADER.size :])
    except (struct.error, zlib.error) as error:
        raise ValueError(f"not a packed batch: {error}") from error
    ends = np.cumsum([0, 8 * n, 8 * n, 4 * k, 4 * cells, 8 * cells])
    if version != VERSION or k != len(names) or ends[-1] != len(body):
        raise ValueError(f"not a packed batch of version {VERSION} with {len(names)} keys")
    parts = [body[a:b] for a, b in pairwise(ends)]
    return Block(
        keys=names,
        steps=np.cumsum(unshuffle(parts[0], "<i8"), dtype=np.int64),
        t=np.cumsum(unshuffle(parts[1], "<i8"), dtype=np.int64).view(np.float64),
        cuts=np.concatenate([[0], np.cumsum(np.frombuffer(parts[2], "<u4"), dtype=np.int64)]),
        rows=np.cumsum(unshuffle(parts[3], "<u4"), dtype=np.uint32),
        values=unshuffle(parts[4], "<f8"),
    )


def differences(column: NDArray[Any]) -> NDArray[Any]:
    """Return the first element, then each minus the one before, wrapping around: `cumsum` undoes it exactly."""
    return np.diff(column, prepend=column.dtype.type(0))


def shuffle(column: NDArray[Any]) -> bytes:
    """Return all first bytes, then all second bytes, …: similar bytes become adjacent, so that they deflate well."""
    little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(len(column), column.itemsize).T.tobytes()


def unshuffle(data: bytes, kind: str) -> NDArray[Any]:
    width = np.dtype(kind).itemsize
    return np.frombuffer(data, np.uint8).reshape(width, -1).T.copy().view(kind).reshape(-1)


Data: TypeAlias = bytes | memoryview
PROGRESSION, INTEGERS, SINGLES, DOUBLES, DEFLATED = range(5)
LINE = struct.Struct("<qq")
WRAPS_AT = 2**63


class Progression(NamedTuple):
    """Progression of `n` integers of 64 bits that go up or down by `step`, starting at `first`.

    It needs no stored integers, and no search through them.
    """

    first: int
    step: int
    n: int

    @property
    def ascends(self) -> bool:
        """Return whether each integer is above the one before, as the steps of nearly all runs are."""
        return self.n == 1 or (self.step > 0 and self.first + self.step * (self.n - 1) < WRAPS_AT)

    def joined(self, other: Progression) -> Progression | None:
        """Return both progressions in sequence as one, or None if they do not form one.

        A single integer has no step of its own.
        """
        step = other.first - self.first if self.n == 1 else self.step
        fits = other.first == self.first + step * self.n and (other.step == step or other.n == 1)
        return Progression(self.first, step, self.n + other.n) if fits and -WRAPS_AT < step < WRAPS_AT else None

    def to_array(self) -> Ints:
        """Return the progression as int64[n]."""
        # In place: charts read thousands of these, and most of what they cost is memory.
        line: Ints = np.arange(self.n, dtype=np.int64)
        if self.step != 1:
            line *= self.step
        line += self.first
        return line


def progression_of(column: Ints) -> Progression | None:
    """Return int64[n], n ≥ 1, as a Progression, or None if it is not one.

    Integers too far apart for 64 bits give None: their difference would wrap.
    """
    apart = np.diff(column)
    if len(apart) and not (apart == apart[0]).all():
        return None
    line = Progression(int(column[0]), int(apart[0]) if len(apart) else 0, len(column))
    return line if line.first + line.step * (line.n - 1) == column[-1] else None


def encode_ints(column: Ints) -> bytes:
    """Encode int64[n], n ≥ 1, as bytes.

    Steps and sequence numbers mostly ascend evenly, so that two numbers describe them all.
    """
    if line := progression_of(column):
        return bytes([PROGRESSION]) + LINE.pack(line.first, line.step)
    return bytes([INTEGERS]) + zlib.compress(shuffle(differences(column)), 1)


def progression(data: Data, n: int) -> Progression | None:
    """Return the column that `encode_ints` has encoded as a Progression, without computing its integers.

    Return None if the column was not encoded as a progression.
    """
    if data[0] != PROGRESSION:
        return None
    first, step = LINE.unpack_from(data, 1)
    return Progression(first, step, n)


def decode_ints(data: Data, n: int) -> Ints:
    """Return the column that `encode_ints` has encoded, int64[n]. Raise ValueError for other bytes."""
    if line := progression(data, n):
        return line.to_array()
    if data[0] != INTEGERS:
        raise ValueError(f"{data[0]} is not a known encoding of integers")
    return np.cumsum(unshuffle(zlib.decompress(data[1:]), "<i8"), dtype=np.int64)


def encode_floats(column: Floats) -> bytes:
    """Encode float64[n], n ≥ 1, as bytes that preserve every bit.

    A column that fits 32 bits exactly, as most output of torch does, takes 32 bits a value.
    """
    deflated = zlib.compress(shuffle(differences(column.view(np.int64))), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        single = column.astype("<f4")
    is_exact = np.array_equal(single.astype(np.float64).view(np.int64), column.view(np.int64))
    plain = single.tobytes() if is_exact else column.astype("<f8").tobytes()
    if len(deflated) < WORTH_DEFLATING * len(plain):
        return bytes([DEFLATED]) + deflated
    return bytes([SINGLES if is_exact else DOUBLES]) + plain


def decode_floats(data: Data, n: int) -> NDArray[Any]:
    """Return the column that `encode_floats` has encoded, in its stored precision: float32[n] or float64[n].

    The caller widens it when copying it. Raise ValueError if the bytes have another encoding.
    """
    if data[0] == DOUBLES:
        return np.frombuffer(data, "<f8", n, 1)
    if data[0] == SINGLES:
        return np.frombuffer(data, "<f4", n, 1)
    if data[0] != DEFLATED:
        raise ValueError(f"{data[0]} is not a known encoding of floats")
    return np.cumsum(unshuffle(zlib.decompress(data[1:]), "<i8"), dtype=np.int64).view(np.float64)
