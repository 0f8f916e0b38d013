"""Records from time to time what a training uses of its machine, as metrics under `system/`.

An accompaniment, never a dependency: whatever goes wrong here is said in the log and the training goes on.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from workers.client.gpus import Gpus, gpus
from workers.client.processes import Processes
from workers.records import Metric, RecordWriter


@contextlib.contextmanager
def sampling(records: RecordWriter, every_seconds: float) -> Iterator[None]:
    """Looks every so many seconds while the block runs; never where that is 0."""
    if not every_seconds:
        yield
        return
    sampler = Sampler(records, every_seconds)
    thread = threading.Thread(target=sampler.run, name="sample", daemon=True)
    thread.start()
    try:
        yield
    finally:
        sampler.end.set()
        thread.join()


class Sampler:
    """Looks at this process, its descendants, and its GPUs once it uses any."""

    def __init__(self, records: RecordWriter, every_seconds: float) -> None:
        self.records, self.every_seconds = records, every_seconds
        self.processes = Processes(os.getpid())
        self.gpus: Gpus | None = None
        self.end = threading.Event()

    def run(self) -> None:
        """Looks until the end is set."""
        while not self.end.wait(self.every_seconds):
            try:
                self.sample()
            except OSError as error:
                _say(f"what the machine does was not recorded this time: {error}")

    def sample(self) -> None:
        """Looks once, and records it at the step that training has reached. Raises OSError."""
        if self.gpus is None and _uses_cuda():
            self.gpus = gpus()
        values = self.processes.look() | (self.gpus.look() if self.gpus else {})
        if values:
            self.records.write(Metric(self.records.step, values))


def _uses_cuda() -> bool:
    """True once torch, where it is loaded at all, has taken a GPU: those that others use are not this run's."""
    # Another thread may be importing it at this very moment: then it has no such part yet.
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    is_initialized = getattr(cuda, "is_initialized", None)
    return is_initialized is not None and bool(is_initialized())


def _say(words: str) -> None:
    # The log is on the disk that is full.
    with contextlib.suppress(OSError):
        print(f"sample: {words}", file=sys.stderr, flush=True)
