"""The thread that records what takes too long for a call: Git, the machine and its usage, and checkpoints."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from esweb_client.checkpoints import checkpoint_fields
from esweb_client.lines import encode, metric_lines
from esweb_client.machine import describe_environment, describe_git
from esweb_client.notices import warn_once
from esweb_client.spool import STATE, Spool
from esweb_client.state import State
from esweb_client.usage import Usage

EVERY_SECONDS = 0.5


class Recorder:
    """Background work of one run. `is_described` is set once Git and the machine are known."""

    def __init__(
        self,
        spool: Spool,
        state: State,
        step: Callable[[], int],
        *,
        usage_seconds: float,
        add_git: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self.is_described = threading.Event()
        self._spool, self._state, self._step = spool, state, step
        self._usage_seconds, self._add_git = usage_seconds, add_git
        self._checkpoints: queue.Queue[tuple[Any, int, float]] = queue.Queue()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="esweb-record", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add_checkpoint(self, path: Any, step: int) -> None:
        """Record the checkpoint once its fingerprint is computed."""
        self._checkpoints.put((path, step, time.time()))

    def finish(self, seconds: float) -> bool:
        """Finish what is left, for so many seconds at most. Return whether everything is recorded."""
        self._end.set()
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._attempt("the program and its machine", self._describe)
        self.is_described.set()
        usage = self._attempt("the usage of the machine", Usage) if self._usage_seconds > 0 else None
        due = time.monotonic() + self._usage_seconds
        while True:
            is_last = self._end.wait(EVERY_SECONDS)
            self._attempt("a checkpoint", self._record_checkpoints)
            self._attempt("the run's settings", self._save_state)
            self._attempt("waiting records", self._spool.drain)
            if is_last:
                return
            if usage and time.monotonic() >= due:
                due = time.monotonic() + self._usage_seconds
                self._attempt("the usage of the machine", lambda: self._record_usage(usage))

    def _attempt(self, subject: str, work: Callable[[], Any]) -> Any:
        """Return the result of the work. An error is reported once, and the thread goes on."""
        try:
            return work()
        except Exception as error:
            warn_once(f"recorder {subject}", f"{subject} could not be recorded: {error}")
            return None

    def _describe(self) -> None:
        if self._add_git and (git := describe_git()):
            self._add_git(git)
        self._spool.append(encode("environment", describe_environment()))

    def _record_usage(self, usage: Usage) -> None:
        for line in metric_lines(self._step(), usage.read(), None):
            self._spool.append(line)

    def _record_checkpoints(self) -> None:
        while not self._checkpoints.empty():
            path, step, t = self._checkpoints.get()
            self._attempt(f"the checkpoint {path}", lambda: self._record_checkpoint(path, step, t))  # noqa: B023

    def _record_checkpoint(self, path: Any, step: int, t: float) -> None:
        self._spool.append(encode("checkpoint", checkpoint_fields(path, step), t))

    def _save_state(self) -> None:
        if self._state.is_unsaved:
            self._spool.write_json(STATE, self._state.copy())
