"""Requests to stop a training: set by a signal, and checked between pieces of work, or cutting one short."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CHECK_SECONDS = 0.2
"""Seconds between two checks of a sleep."""


class Interrupted(BaseException):
    """The work at hand was cut short by a request to stop. It is no Exception, so that handlers of those do not catch
    it."""


class Stop:
    """A request to stop the run, made or not. Signals arrive in the main thread, and only work there is cut short;
    another thread notices a request when it calls `check`.

    Plain attributes and no threading.Event: its lock would wait for itself if a second signal comes during a first.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._is_interruptible = False

    def is_set(self) -> bool:
        """Return whether a stop was requested."""
        return self._is_set

    def check(self) -> None:
        """Raise Interrupted if a stop was requested: for work that can be given up between its parts only."""
        if self._is_set:
            raise Interrupted

    def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`. Raise Interrupted within CHECK_SECONDS of a request."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, CHECK_SECONDS))
        self.check()

    def set(self, *_: object) -> None:
        """Request a stop. A signal handler. Raise Interrupted inside an `interruptible` block."""
        self._is_set = True
        if self._is_interruptible and _is_main_thread():
            # Once: what cleans up behind this exception is not interrupted again.
            self._is_interruptible = False
            raise Interrupted

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Run work that can be given up at any point: a request raises Interrupted in it, an earlier one before it."""
        if not _is_main_thread():
            self.check()
            yield
            return
        self._is_interruptible = True
        try:
            self.check()
            yield
        except Exception:
            # Imports that are cut short come out as errors of the library's own making.
            self.check()
            raise
        finally:
            self._is_interruptible = False
        # Also if the work swallowed the exception, as imports do that check if a library exists.
        self.check()

    @contextmanager
    def uninterruptible(self) -> Iterator[None]:
        """Run a part of such work that is finished once begun, as the writing of a record: Interrupted comes after
        it."""
        if not _is_main_thread():
            yield
            return
        before, self._is_interruptible = self._is_interruptible, False
        try:
            yield
        finally:
            self._is_interruptible = before
        if before:
            self.check()


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
