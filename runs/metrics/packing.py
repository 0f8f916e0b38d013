"""Points <-> bytes: the metric records of one flush, columnar, delta-coded, byte-shuffled and deflated. Lossless.

Layout: `<BIII` version, records, keys, cells; then zlib level 1 over, in this order:
steps int64 and times float64 (each the differences of its bit patterns, shuffled), cells a key uint32,
the record of each cell uint32 (differences, shuffled), values float64 (shuffled). All little-endian.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.records import Metric

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

VERSION = 1
HEADER = struct.Struct("<BIII")
AXES = "axes/"


@dataclass(frozen=True)
class Block:
    """`n` metric records as columns: `steps` int64[n], `t` float64[n] (Unix seconds), and for key number k the values
    `values[cuts[k]:cuts[k+1]]`, measured by the records `rows[cuts[k]:cuts[k+1]]`. Axes are keys `axes/<name>`."""

    keys: tuple[str, ...]
    steps: Ints
    t: Floats
    cuts: Ints
    rows: NDArray[np.uint32]
    values: Floats

    def column(self, key: str) -> tuple[NDArray[np.uint32], Floats]:
        """(records, values) of one key, in the order written. Empty where the block has no such key."""
        if key not in self.keys:
            return self.rows[:0], self.values[:0]
        k = self.keys.index(key)
        cells = slice(self.cuts[k], self.cuts[k + 1])
        return self.rows[cells], self.values[cells]

    @property
    def cells(self) -> int:
        """How many values it holds, axes included."""
        return len(self.values)


def block(metrics: Iterable[tuple[float, Metric]]) -> Block:
    """(time in Unix seconds, record) pairs, in the order written, as one Block. Keys come out sorted."""
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
    """A Block as bytes, without its keys: a row keeps those in a column of their own, where SQL can search them."""
    body = b"".join(
        (
            shuffled(differences(points.steps)),
            shuffled(differences(points.t.view(np.int64))),
            np.diff(points.cuts).astype("<u4").tobytes(),
            shuffled(differences(points.rows)),
            shuffled(points.values),
        )
    )
    return HEADER.pack(VERSION, len(points.steps), len(points.keys), points.cells) + zlib.compress(body, 1)


def unpack(keys: Iterable[str], data: bytes | memoryview) -> Block:
    """The Block that `pack` was given. Raises ValueError where the bytes are not one."""
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
        steps=np.cumsum(unshuffled(parts[0], "<i8"), dtype=np.int64),
        t=np.cumsum(unshuffled(parts[1], "<i8"), dtype=np.int64).view(np.float64),
        cuts=np.concatenate([[0], np.cumsum(np.frombuffer(parts[2], "<u4"), dtype=np.int64)]),
        rows=np.cumsum(unshuffled(parts[3], "<u4"), dtype=np.uint32),
        values=unshuffled(parts[4], "<f8"),
    )


def differences(column: NDArray[Any]) -> NDArray[Any]:
    """The first element, then each minus the one before, wrapping around: `cumsum` undoes it exactly."""
    return np.diff(column, prepend=column.dtype.type(0))


def shuffled(column: NDArray[Any]) -> bytes:
    """All first bytes, then all second bytes, …: like bytes lie together, and deflate finds them."""
    little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(len(column), column.itemsize).T.tobytes()


def unshuffled(data: bytes, kind: str) -> NDArray[Any]:
    width = np.dtype(kind).itemsize
    return np.frombuffer(data, np.uint8).reshape(width, -1).T.copy().view(kind).reshape(-1)
