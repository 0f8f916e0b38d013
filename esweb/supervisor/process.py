"""One child process, its log, and its restarts."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from esweb.embedded import CannotStart, die_with_parent
from esweb.embedded.child_process import raising_cannot_start, stop

FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 30.0
WELL_AFTER_SECONDS = 60.0
LOG_BYTES = 10 * 2**20
LINE_BYTES = 2000


@dataclass
class Part:
    """A program that runs as our child. It writes to its log, which is read from there: a slow console delays
    nothing."""

    name: str
    argv: Sequence[str]
    log: Path
    env: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()
    comes_back: bool = True
    """False for a part that ends when its work is done."""
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _wait_seconds: float = field(default=FIRST_WAIT_SECONDS, init=False)
    _started_at: float = field(default=0.0, init=False)
    _start_again_at: float | None = field(default=None, init=False)
    _read_to: int = field(default=0, init=False)
    _partial_line: bytes = field(default=b"", init=False)

    def start(self) -> None:
        """Start the program. Raise CannotStart if its log cannot be written."""
        with raising_cannot_start(self.log.parent):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
                self.log.replace(self.log.with_suffix(".log.1"))
            with self.log.open("ab") as log:
                self._read_to = log.tell()
                self.process = self._run(log.fileno())
        self._started_at, self._start_again_at = time.monotonic(), None

    def _run(self, log: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=self.env,
            pass_fds=self.pass_fds,
            # A terminal's Ctrl-C is for us alone: we stop the parts in order.
            process_group=0,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )

    def restart_if_due(self) -> str:
        """Start it again if its time has come. Return a message to print, mostly empty."""
        if self.process is None or self.process.poll() is None or not self.comes_back:
            return ""
        now = time.monotonic()
        if self._start_again_at is None:
            if now - self._started_at > WELL_AFTER_SECONDS:
                self._wait_seconds = FIRST_WAIT_SECONDS
            self._start_again_at = now + self._wait_seconds
            message = f"{self.name} {self.describe_exit()}; restarting in {self._wait_seconds:.0f} s"
            self._wait_seconds = min(2 * self._wait_seconds, MAX_WAIT_SECONDS)
            return f"{message} ({self.log} has more)"
        if now < self._start_again_at:
            return ""
        try:
            self.start()
        except CannotStart as error:
            message = f"{self.name} cannot be started: {error} Retrying in {self._wait_seconds:.0f} s."
            self._start_again_at = now + self._wait_seconds
            self._wait_seconds = min(2 * self._wait_seconds, MAX_WAIT_SECONDS)
            return message
        return f"{self.name} restarted"

    @property
    def has_ended(self) -> bool:
        """Return whether its process has ended."""
        return self.process is not None and self.process.poll() is not None

    def describe_exit(self) -> str:
        """Return its exit code, or the signal that ended it, as text."""
        code = self.process.returncode if self.process else 0
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def new_lines(self) -> list[str]:
        """Return the whole lines that it wrote since the last call."""
        with self.log.open("rb") as log:
            log.seek(self._read_to)
            new = log.read()
        self._read_to += len(new)
        *lines, self._partial_line = (self._partial_line + new).split(b"\n")
        if len(self._partial_line) > LINE_BYTES:
            lines, self._partial_line = [*lines, self._partial_line], b""
        return [line[:LINE_BYTES].decode(errors="replace") for line in lines if line.strip()]

    def stop(self, patience_seconds: float) -> None:
        """Send SIGTERM, and SIGKILL if it does not end."""
        if self.process:
            stop(self.process, signal.SIGTERM, patience_seconds)
