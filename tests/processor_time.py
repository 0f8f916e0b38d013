"""Processor time of functions, and its growth: what tests of linear time share.

Seconds of one call say little, since other processes empty the caches. So no call is held to a number of seconds;
times of two lengths are compared, at their best. Garbage is not collected meanwhile: in a process that has run
thousands of tests, that takes up to half a second, of the call that happens to start it.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

MAX_GROWTH = 2.6
"""Of the processor time if the input is twice as long."""
MIN_SECONDS = 0.005
"""Processor time from which on the growth is measured: less is too inexact, and harmless."""
MAX_CALLS = 24

Input = TypeVar("Input")


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage within the block."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor time of this thread for a call, without that of collecting garbage."""
    with without_collection():
        started_at = time.thread_time()
        work()
        return time.thread_time() - started_at


def assert_linear(read: Callable[[Input], object], make: Callable[[int], Input], length: int) -> None:
    """Assert that `read` takes at most about twice the time for an input of twice the length.

    The best time of several calls counts: those in turn that are needed until it is linear, at most MAX_CALLS.
    """
    short, long = make(length), make(2 * length)
    once = twice = float("inf")
    for _ in range(MAX_CALLS):
        once, twice = min(once, seconds_of(lambda: read(short))), min(twice, seconds_of(lambda: read(long)))
        if twice < MIN_SECONDS or twice <= MAX_GROWTH * once:
            return
    raise AssertionError(f"{once:.4f} s for the input, {twice:.4f} s for one of twice its length")
