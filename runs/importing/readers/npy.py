"""Read NumPy's array files. A header is accepted only if the file has as many bytes. Nothing is unpickled."""

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
MAX_ARRAY_BYTES = 64 * MB
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class BadArray(ValueError):
    """Error for a file that is not a one-dimensional array of numbers or texts."""


def is_array_file(head: bytes) -> bool:
    """Return whether these are the first bytes of an array file."""
    return head.startswith(MAGIC)


def read_array(file: File) -> NDArray[Any]:
    """Return the array (N,) of numbers or texts. Raise BadArray, and OSError."""
    if file.size > MAX_ARRAY_BYTES:
        raise BadArray(f"has {file.size} bytes; at most {MAX_ARRAY_BYTES} are read")
    data = file.head(file.size)
    try:
        shape, dtype, rest = _header(data)
    except (ValueError, SyntaxError, TypeError, TokenError, RecursionError, MemoryError) as error:
        raise BadArray(f"is not a readable array: {error}"[:300]) from error
    if dtype.kind not in "fiuU" or dtype.hasobject or not dtype.itemsize:
        raise BadArray(f"contains {dtype}, and neither numbers nor texts")
    if sum(size != 1 for size in shape) > 1 or not shape or math.prod(shape) * dtype.itemsize != len(data) - rest:
        raise BadArray(f"states the shape {shape} of {dtype}, which has not one dimension or does not match its size")
    return np.frombuffer(data, dtype, offset=rest)


def _header(data: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return (shape, dtype, offset at which the numbers begin)."""
    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"its format is version {version}, not one of {sorted(HEADERS)}")
    shape, _, dtype = HEADERS[version](stream)
    return shape, dtype, stream.tell()
