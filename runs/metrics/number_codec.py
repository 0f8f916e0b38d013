"""One column of numbers <-> bytes: lossless, and as quick to read as it lies in memory unless deflating halves it.

The first byte says how: a progression (first, step), differences of integers, floats as they are in 4 or 8 bytes, or
their bit patterns' differences, deflated. Charts read millions of values: most of them must cost no inflating.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.metrics.packing import Floats, Ints, differences, shuffled, unshuffled

Data: TypeAlias = bytes | memoryview

PROGRESSION, INTEGERS, SINGLES, DOUBLES, DEFLATED = range(5)
LINE = struct.Struct("<qq")
WRAPS_AT = 2**63
WORTH_DEFLATING = 0.5
"""Of the size as it is: deflating less than this away costs more in reading than it saves on the disk."""


class Progression(NamedTuple):
    """`n` integers of 64 bits that go up or down by `step`, from `first` on: nothing to read, and nothing to look
    through."""

    first: int
    step: int
    n: int

    @property
    def ascends(self) -> bool:
        """True where each is above the one before, as steps of nearly all runs are."""
        return self.n == 1 or (self.step > 0 and self.first + self.step * (self.n - 1) < WRAPS_AT)

    def joined(self, other: Progression) -> Progression | None:
        """Both, one after the other, where that is one progression. A single integer has no step of its own."""
        step = other.first - self.first if self.n == 1 else self.step
        fits = other.first == self.first + step * self.n and (other.step == step or other.n == 1)
        return Progression(self.first, step, self.n + other.n) if fits and -WRAPS_AT < step < WRAPS_AT else None

    def written_out(self) -> Ints:
        """int64[n]."""
        # In place: charts read thousands of these, and most of what they cost is memory.
        line: Ints = np.arange(self.n, dtype=np.int64)
        if self.step != 1:
            line *= self.step
        line += self.first
        return line


def progression_of(column: Ints) -> Progression | None:
    """int64[n], n ≥ 1, where it is one. Integers too far apart for 64 bits are none: their difference would wrap."""
    apart = np.diff(column)
    if len(apart) and not (apart == apart[0]).all():
        return None
    line = Progression(int(column[0]), int(apart[0]) if len(apart) else 0, len(column))
    return line if line.first + line.step * (line.n - 1) == column[-1] else None


def encode_ints(column: Ints) -> bytes:
    """int64[n], n ≥ 1. Steps and sequence numbers mostly go up evenly: two numbers say them all."""
    if line := progression_of(column):
        return bytes([PROGRESSION]) + LINE.pack(line.first, line.step)
    return bytes([INTEGERS]) + zlib.compress(shuffled(differences(column)), 1)


def progression(data: Data, n: int) -> Progression | None:
    """What `encode_ints` was given, where that was a progression and is known without writing it out."""
    if data[0] != PROGRESSION:
        return None
    first, step = LINE.unpack_from(data, 1)
    return Progression(first, step, n)


def decode_ints(data: Data, n: int) -> Ints:
    """What `encode_ints` was given. Raises ValueError where the bytes are not that."""
    if line := progression(data, n):
        return line.written_out()
    if data[0] != INTEGERS:
        raise ValueError(f"{data[0]} is no way to write integers")
    return np.cumsum(unshuffled(zlib.decompress(data[1:]), "<i8"), dtype=np.int64)


def encode_floats(column: Floats) -> bytes:
    """float64[n], n ≥ 1, every bit of it. What fits 32 bits exactly, as most of what torch says does, takes 32."""
    deflated = zlib.compress(shuffled(differences(column.view(np.int64))), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        single = column.astype("<f4")
    is_exact = np.array_equal(single.astype(np.float64).view(np.int64), column.view(np.int64))
    plain = single.tobytes() if is_exact else column.astype("<f8").tobytes()
    if len(deflated) < WORTH_DEFLATING * len(plain):
        return bytes([DEFLATED]) + deflated
    return bytes([SINGLES if is_exact else DOUBLES]) + plain


def decode_floats(data: Data, n: int) -> NDArray[Any]:
    """What `encode_floats` was given, in as many bits as it lies there: whoever copies it widens it on the way. Raises
    ValueError where the bytes are not that."""
    if data[0] == DOUBLES:
        return np.frombuffer(data, "<f8", n, 1)
    if data[0] == SINGLES:
        return np.frombuffer(data, "<f4", n, 1)
    if data[0] != DEFLATED:
        raise ValueError(f"{data[0]} is no way to write floats")
    return np.cumsum(unshuffled(zlib.decompress(data[1:]), "<i8"), dtype=np.int64).view(np.float64)
