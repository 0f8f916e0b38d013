"""Memory of a training process on a CPU: what one step frees, the next one gets again.

By default glibc gives large blocks back to the system at once, which then clears every page of them anew: a tenth of
the time of an iteration of ES on a small model.
"""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Names of `mallopt`, from glibc's malloc.h."""
KEPT_BYTES = 1 << 30
LARGE_BYTES = 32 << 20
"""Larger blocks, those of large models, still come from the system and go back to it: glibc allows no more."""


def keep_freed_memory() -> bool:
    """Lets the process keep up to 1 GiB of freed memory. False, and nothing changed, with another C library."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)) and bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
