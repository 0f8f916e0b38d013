"""Runs the processes that start the node program on other nodes, and starts each again when it ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from workers.agent import death_signal_setter
from workers.engine_nodes.job import Launcher

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
STABLE_SECONDS = 60.0
"""A launcher that ran for so long is started again after the first pause."""


class RunningLauncher(threading.Thread):
    """One launcher. `alert` gets a message when it ends before `end`."""

    def __init__(self, launcher: Launcher, alert: Callable[[str], None]) -> None:
        super().__init__(name="node-launcher", daemon=True)
        self._launcher, self._alert = launcher, alert
        self._closed = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Run the process again and again, until `end`. It ends with this thread, and so with the training."""
        pause = FIRST_PAUSE_SECONDS
        while not self._closed.is_set():
            began = time.monotonic()
            reason = self._run_once()
            if self._closed.is_set():
                return
            if time.monotonic() - began > STABLE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            program = Path(self._launcher.argv[0]).name
            self._alert(f"{program}, which starts engines on other nodes, {reason}; it starts again in {pause:.0f} s")
            self._closed.wait(pause)
            pause = min(LONGEST_PAUSE_SECONDS, 2 * pause)

    def end(self) -> None:
        """Start the process no more: it ends when the connections of its nodes have ended."""
        self._closed.set()

    def wait(self, until: float) -> None:
        """Wait for the end of the process until a time of the monotonic clock, then kill it."""
        if (process := self._process) is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            process.kill()

    def _run_once(self) -> str:
        """Run the process to its end. Return how it ended."""
        try:
            # Its standard input stays open for as long as this process lives.
            process = self._process = subprocess.Popen(
                self._launcher.argv, env={**os.environ, **self._launcher.environment}, stdin=subprocess.PIPE,
                preexec_fn=death_signal_setter(),
            )  # fmt: skip
        except OSError as error:
            return f"could not be started: {error.strerror or error}"
        with process:
            code = process.wait()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
