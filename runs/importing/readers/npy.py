"""NumPy's array files. A header is believed only where the file has the bytes that it claims; nothing is unpickled."""

from __future__ import annotations

import io
import math
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from runs.importing.files import MB, File

MAGIC = b"\x93NUMPY"
ARRAY_AT_MOST = 64 * MB
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class BadArray(ValueError):
    """A file that is no array of one dimension that is read here."""


def is_one(head: bytes) -> bool:
    """True for the first bytes of an array file."""
    return head.startswith(MAGIC)


def read(file: File) -> NDArray[Any]:
    """The array (N,): numbers, or texts. Raises BadArray, and OSError."""
    if file.size > ARRAY_AT_MOST:
        raise BadArray(f"has {file.size} bytes; at most {ARRAY_AT_MOST} are read")
    data = file.head(file.size)
    try:
        shape, dtype, rest = _header(data)
    except (ValueError, SyntaxError, TypeError, TokenError, RecursionError) as error:
        raise BadArray(f"is no array that can be read: {error}"[:300]) from error
    if dtype.kind not in "fiuU" or dtype.hasobject:
        raise BadArray(f"holds {dtype}, and neither numbers nor texts")
    if sum(size != 1 for size in shape) > 1 or not shape or math.prod(shape) * dtype.itemsize != len(data) - rest:
        raise BadArray(f"claims the shape {shape} of {dtype}, which is not one dimension, or not what it holds")
    return np.frombuffer(data, dtype, offset=rest)


def _header(data: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """(shape, type of a number, where the numbers begin)."""
    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"its format is version {version}, not one of {sorted(HEADERS)}")
    shape, _, dtype = HEADERS[version](stream)
    return shape, dtype, stream.tell()
