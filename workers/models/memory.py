"""Memory of a training process on a CPU: memory that one step frees is reused by the next one.

By default glibc returns large blocks to the system immediately, which then clears every page of them again: a tenth of
the time of an iteration of ES on a small model.
"""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Names of `mallopt`, from glibc's malloc.h."""
TRIM_THRESHOLD_BYTES = 1 << 30
LARGE_BYTES = 32 << 20
"""Larger blocks, those of large models, still come from the system and return to it: glibc allows no more."""


def keep_freed_memory() -> bool:
    """Let the process retain up to 1 GiB of freed memory. Return False, and change nothing, with another C library."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)) and bool(mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES))
