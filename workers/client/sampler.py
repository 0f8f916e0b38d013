"""Records at intervals how a training uses its machine, as metrics under `system/`.

An accompaniment, never a dependency: any error here is logged and the training continues.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from workers.client.processes import Processes
from workers.gpus import Gpus, gpus
from workers.records import Metric, RecordWriter


@contextlib.contextmanager
def record_usage(records: RecordWriter, every_seconds: float) -> Iterator[None]:
    """Record the usage every so many seconds while the block runs; never if that is 0."""
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
    """Sampler of this process, its descendants, and its GPUs once it uses any."""

    def __init__(self, records: RecordWriter, every_seconds: float) -> None:
        self.records, self.every_seconds = records, every_seconds
        self.processes = Processes(os.getpid())
        self.gpus: Gpus | None = None
        self.end = threading.Event()

    def run(self) -> None:
        """Sample until the end is set."""
        while not self.end.wait(self.every_seconds):
            try:
                self.sample()
            except OSError as error:
                _log(f"machine usage could not be recorded this time: {error}")

    def sample(self) -> None:
        """Read the usage once, and record it at the step that training has reached. Raise OSError."""
        if self.gpus is None and _uses_cuda():
            self.gpus = gpus()
        values = self.processes.read_usage() | (self.gpus.read_usage() if self.gpus else {})
        if values:
            self.records.write(Metric(self.records.step, values))


def _uses_cuda() -> bool:
    """Return whether torch, if it is loaded at all, has taken a GPU: GPUs that others use are not this run's."""
    # Another thread may be importing torch now: then it has no such part yet.
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    is_initialized = getattr(cuda, "is_initialized", None)
    return is_initialized is not None and bool(is_initialized())


def _log(message: str) -> None:
    # The log may be on a disk that is full.
    with contextlib.suppress(OSError):
        print(f"sample: {message}", file=sys.stderr, flush=True)
