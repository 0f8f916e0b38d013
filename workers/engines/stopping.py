"""How a training hears that it should stop: set by a signal, looked at between pieces of work, or cutting one short."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(BaseException):
    """The work at hand was cut short by a request to stop. No Exception: nobody who catches those is to swallow it."""


class Stop:
    """A request to stop the run, made or not. Signals arrive in the main thread, and only work there is cut short;
    another thread notices a request when it calls `check`.

    Plain attributes and no threading.Event: its lock would wait for itself where a second signal comes during a first.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._cuts = False

    def is_set(self) -> bool:
        """True once asked."""
        return self._is_set

    def check(self) -> None:
        """Raises Interrupted once asked: for work that can be given up between its parts only."""
        if self._is_set:
            raise Interrupted

    def set(self, *_: object) -> None:
        """Asks to stop. A signal handler. Raises Interrupted inside a `cuts` block."""
        self._is_set = True
        if self._cuts and _is_main_thread():
            # Once: what cleans up behind this exception is not interrupted again.
            self._cuts = False
            raise Interrupted

    @contextmanager
    def cuts(self) -> Iterator[None]:
        """Work that can be given up at any point: a request raises Interrupted in it, an earlier one before it."""
        if not _is_main_thread():
            self.check()
            yield
            return
        self._cuts = True
        try:
            self.check()
            yield
        except Exception:
            # Imports that are cut short come out as errors of the library's own making.
            self.check()
            raise
        finally:
            self._cuts = False
        # Also where the work swallowed the exception, as imports do that look whether a library is there.
        self.check()

    @contextmanager
    def waits(self) -> Iterator[None]:
        """A part of such work that is finished once begun, as the writing of a record: Interrupted comes after it."""
        if not _is_main_thread():
            yield
            return
        before, self._cuts = self._cuts, False
        try:
            yield
        finally:
            self._cuts = before
        if before:
            self.check()


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
