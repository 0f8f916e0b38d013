"""Ctrl-C, SIGTERM and a closed terminal all mean: stop everything, in order, once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked us to stop. No error, hence no Exception: nothing that handles errors may swallow it."""


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Within the block the first such signal raises Stopped; later ones are ignored: stopping is not cut short."""
    before = {number: signal.signal(number, _stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    raise Stopped
