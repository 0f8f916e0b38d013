"""Work that a site's workers do, in a thread, while a command waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

PAUSE_SECONDS = 0.1


@contextmanager
def repeating(work: Callable[[], object]) -> Iterator[None]:
    """Call `work` again and again in a thread until the block ends. An error in it is raised at the end."""
    stop, errors = threading.Event(), list[Exception]()

    def run() -> None:
        try:
            while not stop.wait(PAUSE_SECONDS):
                work()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if errors:
        raise errors[0]
