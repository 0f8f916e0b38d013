"""One column of numbers <-> bytes: lossless, and as quick to read as it lies in memory unless deflating halves it.

The first byte says how: a progression (first, step), differences of integers, floats as they are in 4 or 8 bytes, or
their bit patterns' differences, deflated. Charts read millions of values: most of them must cost no inflating.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from runs.series.packing import Floats, Ints, differences, shuffled, unshuffled

PROGRESSION, INTEGERS, SINGLES, DOUBLES, DEFLATED = range(5)
LINE = struct.Struct("<qq")
WORTH_DEFLATING = 0.5
"""Of the size as it is: deflating less than this away costs more in reading than it saves on the disk."""


def encode_ints(column: Ints) -> bytes:
    """int64[n], n ≥ 1. Steps and sequence numbers mostly go up evenly: two numbers say them all."""
    apart = np.diff(column)
    if not len(apart) or (apart == apart[0]).all():
        return bytes([PROGRESSION]) + LINE.pack(column[0], apart[0] if len(apart) else 0)
    return bytes([INTEGERS]) + zlib.compress(shuffled(differences(column)), 1)


def decode_ints(data: bytes, n: int) -> Ints:
    """What `encode_ints` was given. Raises ValueError where the bytes are not that."""
    if data[0] == PROGRESSION:
        first, step = LINE.unpack_from(data, 1)
        # In place: charts read thousands of these, and most of what they cost is memory.
        line: Ints = np.arange(n, dtype=np.int64)
        if step != 1:
            line *= step
        line += first
        return line
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


def decode_floats(data: bytes, n: int) -> Floats:
    """What `encode_floats` was given. Raises ValueError where the bytes are not that."""
    if data[0] == DOUBLES:
        return np.frombuffer(data, "<f8", n, 1)
    if data[0] == SINGLES:
        return np.frombuffer(data, "<f4", n, 1).astype(np.float64)
    if data[0] != DEFLATED:
        raise ValueError(f"{data[0]} is no way to write floats")
    return np.cumsum(unshuffled(zlib.decompress(data[1:]), "<i8"), dtype=np.int64).view(np.float64)
