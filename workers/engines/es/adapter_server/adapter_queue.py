"""Adapters in turn on the server: each is loaded, answers, and is unloaded, several at the same time.

A request that fails is repeated under a new name once the server is back: a server that was started again has lost its
adapters, and one that hangs may still hold the old name.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from workers.config import AdapterServerConfig
from workers.engines.es.adapter_server.folder import AdapterFolder
from workers.engines.es.adapter_server.lookup import ServerLost, ServerRefused
from workers.engines.es.adapter_server.protocol import AdapterServer
from workers.engines.es.adapter_server.threads import start_thread
from workers.models.decoder import Measure, unmeasured

Result = TypeVar("Result")
Wait = Callable[[float, str], None]
"""Wait so many seconds, for a reason. The function may raise to end the wait for good."""
Save = Callable[[Path], None]
"""Write an adapter into a new folder."""
MAX_REFUSALS = 2
"""A server that was started again in the middle of a request refuses the adapter that it has lost."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0
QUEUE_FACTOR = 2
"""Adapters that are written or answered, for each that answers now: the next one is there when one ends."""


class AdapterServerFailed(RuntimeError):
    """The server refuses, or failed for longer than the config waits. The run can resume from its checkpoint."""


class AdapterQueue:
    """Sends adapters to the server, and waits in the calling thread while the server fails."""

    def __init__(self, server: AdapterServer, folder: AdapterFolder, config: AdapterServerConfig, wait: Wait) -> None:
        self.server = server
        self._folder = folder
        self._config = config
        self._wait = wait
        self._slots = threading.BoundedSemaphore(config.at_once)
        self._left: deque[str] = deque()

    def clean(self) -> None:
        """Remove the run's adapters of earlier attempts from the server and the folder. Raise AdapterServerFailed."""
        names = self._patiently(lambda: [n for n in self.server.adapters() if n.startswith(self._folder.run)])
        folders = self._folder.leftovers()
        self._left.extend(dict.fromkeys([*names, *folders]))
        self._unload_left()
        self._folder.delete(folders)

    def answer(self, label: str, save: Save, ask: Callable[[str], Result], measure: Measure = unmeasured) -> Result:
        """Return what `ask` returns for the name of one adapter, while it is loaded. Raise AdapterServerFailed."""
        return next(self.answer_each([(label, save)], ask, measure))

    def answer_each(
        self,
        adapters: Iterable[tuple[str, Save]],
        ask: Callable[[str], Result],
        measure: Measure = unmeasured,
    ) -> Iterator[Result]:
        """Yield what `ask` returns for each adapter, in their order. Raise AdapterServerFailed.

        An adapter comes with a label for its name, and is written in the calling thread. `measure` is called with
        decode around the waiting for answers.
        """
        self._unload_left()
        jobs: deque[_Job[Result]] = deque()
        try:
            for label, save in adapters:
                jobs.append(self._start(label, save, ask))
                if len(jobs) >= QUEUE_FACTOR * self._config.at_once:
                    yield self._finish(jobs, measure)
            while jobs:
                yield self._finish(jobs, measure)
        finally:
            self._give_up(jobs)

    def _start(self, label: str, save: Save, ask: Callable[[str], Result]) -> _Job[Result]:
        name = self._folder.new_name(label)
        job = _Job(label, name, self._folder.write(name, save), ask)
        start_thread(lambda: self._run(job), name)
        return job

    def _run(self, job: _Job[Result]) -> None:
        """Load, answer and unload in a thread of the job."""
        with self._slots:
            if not job.is_given_up:
                job.run(self.server, self._left)
        job.ended.set()

    def _finish(self, jobs: deque[_Job[Result]], measure: Measure) -> Result:
        """Return the result of the first job, and remove it. Repeat it while the server fails."""
        job, until, pause, refusals = jobs[0], time.monotonic() + self._config.wait_seconds, FIRST_PAUSE_SECONDS, 0
        while True:
            with measure("decode"):
                job.ended.wait()
            if job.error is None:
                self._folder.delete([job.folder.name])
                return jobs.popleft().result()
            if isinstance(job.error, ServerRefused):
                refusals += 1
                if refusals == MAX_REFUSALS:
                    raise self._failure(job.error)
            elif isinstance(job.error, ServerLost):
                pause = self._pause(job.error, pause, until)
            else:
                raise job.error
            self._repeat(jobs)

    def _repeat(self, jobs: Iterable[_Job[Result]]) -> None:
        """Start every job again that ended with an error of the server."""
        self._unload_left()
        for job in jobs:
            if job.ended.is_set() and job.error is not None:
                job.begin_again(self._folder.new_name(job.label))
                start_thread(lambda job=job: self._run(job), job.name)  # type: ignore[misc]

    def _give_up(self, jobs: Iterable[_Job[Result]]) -> None:
        """Take no result of these jobs. Those that have not begun never do; the others still unload their adapters."""
        for job in jobs:
            job.is_given_up = True
            self._folder.delete([job.folder.name])

    def _unload_left(self) -> None:
        """Try to unload adapters whose unloading failed. A server that fails again is noticed by the next request."""
        for _ in range(len(self._left)):
            name = self._left.popleft()
            try:
                self.server.unload(name)
            except ServerRefused:
                # It has no adapter of this name.
                continue
            except ServerLost:
                self._left.append(name)
                return

    def _patiently(self, work: Callable[[], Result]) -> Result:
        until, pause = time.monotonic() + self._config.wait_seconds, FIRST_PAUSE_SECONDS
        while True:
            try:
                return work()
            except ServerRefused as error:
                raise self._failure(error) from error
            except ServerLost as error:
                pause = self._pause(error, pause, until)

    def _pause(self, error: ServerLost, pause: float, until: float) -> float:
        """Wait before the next try. Return the pause after it. Raise AdapterServerFailed if the time is over."""
        left = until - time.monotonic()
        if left <= 0:
            raise self._failure(error) from error
        seconds = min(pause, left)
        self._wait(seconds, f"the adapter server {error}; retrying in {seconds:.0f} s")
        return min(2 * pause, MAX_PAUSE_SECONDS)

    def _failure(self, error: Exception) -> AdapterServerFailed:
        return AdapterServerFailed(f"the adapter server {self._config.server} failed: it {error}")


class _Job(Generic[Result]):
    """One adapter and the question that it answers. `error` is valid once `ended` is set."""

    def __init__(self, label: str, name: str, folder: Path, ask: Callable[[str], Result]) -> None:
        self.label, self.name, self.folder = label, name, folder
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.is_given_up = False
        self._ask = ask
        self._results: list[Result] = []

    def begin_again(self, name: str) -> None:
        """Prepare another try under a new name."""
        self.name, self.error = name, None
        self.ended.clear()

    def result(self) -> Result:
        """Return the answer of a job that ended without an error."""
        return self._results[0]

    def run(self, server: AdapterServer, left: deque[str]) -> None:
        """Load the adapter, ask and unload it. A name that may still be loaded is added to `left`."""
        try:
            server.load(self.name, self.folder)
            self._results = [self._ask(self.name)]
        except BaseException as error:
            self.error = error
        try:
            server.unload(self.name)
        except ServerLost:
            left.append(self.name)
        except ServerRefused:
            # After a failed load there is nothing to unload.
            pass
