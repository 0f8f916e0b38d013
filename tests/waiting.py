"""Wait for a condition, with one limit for every test.

Only a failing test reaches the limit, so it is far above the time that a busy machine needs. The same limit holds for
subprocesses, HTTP requests and pages: `timeout=PATIENCE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE_SECONDS = float(os.environ.get("ESWEB_TEST_PATIENCE_SECONDS", "600"))
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.01, 0.5


def wait_until(condition: Callable[[], Value], awaited: str, *, details: Callable[[], object] | None = None) -> Value:
    """Return the first true value of `condition`.

    `awaited` completes the sentence "waited 600 s for …"; `details` returns more to print, such as a log. Raise
    AssertionError at the limit. An exception of `condition` ends the wait immediately.
    """
    for pause in _pauses(awaited, details):
        if value := condition():
            return value
        time.sleep(pause)  # noqa: TID251  (the one place where tests wait)
    raise AssertionError("unreachable: _pauses never ends without an error")


async def wait_until_async(condition: Callable[[], Awaitable[Value]], awaited: str) -> Value:
    """Return the first true value of the coroutine function `condition`; otherwise like `wait_until`."""
    for pause in _pauses(awaited, None):
        if value := await condition():
            return value
        await asyncio.sleep(pause)  # noqa: TID251  (the one place where asynchronous tests wait)
    raise AssertionError("unreachable: _pauses never ends without an error")


def _pauses(awaited: str, details: Callable[[], object] | None) -> Iterator[float]:
    """Yield the seconds to pause between checks, which cost processor time: the longer the wait, the rarer they are."""
    started_at = time.monotonic()
    while (waited := time.monotonic() - started_at) <= PATIENCE_SECONDS:
        yield min(max(MIN_PAUSE_SECONDS, waited / 10), MAX_PAUSE_SECONDS)
    raise AssertionError(f"waited {waited:.0f} s for {awaited}" + (f"\n{details()}" if details else ""))
