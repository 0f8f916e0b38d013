"""One child process, its log, its restarts, and a spare process that is loaded and takes over at once."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from esweb.embedded import CannotStart, die_with_parent
from esweb.embedded.child_process import raising_cannot_start, stop
from esweb.supervisor.stopgap import Stopgap
from esweb.supervisor.turn import Turn
from runs.management.standby import OPTION

FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 30.0
WELL_AFTER_SECONDS = 20.0
"""A part that ran for so long starts again at once; one that ends sooner and again waits longer each time."""
SPARE_AFTER_SECONDS = 10.0
"""A spare process is loaded so long after the part began: whatever ended the one before it should be over."""
SILENT_SECONDS = 2.0
"""Requests wait so long for a part that starts again; then its stopgap answers them."""
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
    takes_turns: bool = False
    """True for a program with the option `--standby`: it loads, and begins when it is told to."""
    has_spare: bool = False
    """True if a second process is loaded, to take over when the first ends. The program must take turns."""
    stopgap: Stopgap | None = None
    """It answers requests while no process of this part has begun."""
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _turn: Turn | None = field(default=None, init=False)
    _spare: tuple[subprocess.Popen[bytes], Turn | None] | None = field(default=None, init=False)
    _spare_at: float = field(default=0.0, init=False)
    _wait_seconds: float = field(default=0.0, init=False)
    _started_at: float = field(default=0.0, init=False)
    _ended_at: float = field(default=0.0, init=False)
    _start_again_at: float | None = field(default=None, init=False)
    _read_to: int = field(default=0, init=False)
    _partial_line: bytes = field(default=b"", init=False)

    def start(self) -> None:
        """Start the program, or let its spare process take over. Raise CannotStart if its log cannot be written."""
        with raising_cannot_start(self.log.parent):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
                self._end_spare()  # it writes to this file
                self.log.replace(self.log.with_suffix(".log.1"))
            self.process, self._turn = self._take_spare() or self._run()
        self._started_at, self._start_again_at = time.monotonic(), None
        self._spare_at = self._started_at + SPARE_AFTER_SECONDS
        self._begin_if_loaded()

    def look_after(self) -> Iterator[str]:
        """Do what is due: let it begin, start it again, load its spare process. Yield messages to print."""
        if self.process is None or not self.comes_back:
            return
        if not self.has_ended:
            self._begin_if_loaded()
            if self.stopgap:
                self.stopgap.collect()
            self._load_spare_if_due()
            return
        if self._start_again_at is None:
            yield self._plan_restart()
        if self._start_again_at is not None and time.monotonic() >= self._start_again_at:
            yield self._start_again()
        self._fill_gap()

    @property
    def has_ended(self) -> bool:
        """Return whether its process has ended."""
        return self.process is not None and self.process.poll() is not None

    def running_processes(self) -> list[subprocess.Popen[bytes]]:
        """Return its processes that have not ended, the spare one included."""
        processes = [self.process, self._spare and self._spare[0]]
        return [process for process in processes if process and process.poll() is None]

    @property
    def open_turn(self) -> int | None:
        """Return the descriptor that is readable once its process is loaded; None if it has begun, or ended."""
        return self._turn.descriptor if self._turn and not self.has_ended else None

    def describe_exit(self) -> str:
        """Return its exit code, or the signal that ended it, as text."""
        return describe_exit(self.process.returncode if self.process else 0)

    def new_lines(self) -> list[str]:
        """Return the whole lines that were written since the last call."""
        with self.log.open("rb") as log:
            if log.seek(0, 2) < self._read_to:
                self._read_to = 0  # a new file
            log.seek(self._read_to)
            new = log.read()
        self._read_to += len(new)
        *lines, self._partial_line = (self._partial_line + new).split(b"\n")
        if len(self._partial_line) > LINE_BYTES:
            lines, self._partial_line = [*lines, self._partial_line], b""
        return [line[:LINE_BYTES].decode(errors="replace") for line in lines if line.strip()]

    def stop(self, patience_seconds: float) -> None:
        """Send SIGTERM, and SIGKILL if it does not end."""
        self._end_spare()
        if self.process:
            stop(self.process, signal.SIGTERM, patience_seconds)

    def _plan_restart(self) -> str:
        self._ended_at = time.monotonic()
        if self._ended_at - self._started_at > WELL_AFTER_SECONDS:
            self._wait_seconds = 0.0
        return f"{self.name} {self.describe_exit()}; restarting{self._wait()} ({self.log} has more)"

    def _start_again(self) -> str:
        try:
            self.start()
        except CannotStart as error:
            return f"{self.name} cannot be started: {error} Retrying{self._wait()}."
        return f"{self.name} restarted"

    def _wait(self) -> str:
        """Set the time of the next start, and make the next wait longer. Return the wait in words."""
        seconds = self._wait_seconds
        self._start_again_at = time.monotonic() + seconds
        self._wait_seconds = min(max(FIRST_WAIT_SECONDS, 2 * seconds), MAX_WAIT_SECONDS)
        return f" in {seconds:.0f} s" if seconds else ""

    def _begin_if_loaded(self) -> None:
        if self._turn is None:
            return
        if not self._turn.is_loaded():
            self._fill_gap()
            return
        if self.stopgap:
            self.stopgap.stop()
        self._turn.begin()
        self._turn = None

    def _fill_gap(self) -> None:
        if self.stopgap and self._ended_at and time.monotonic() - self._ended_at > SILENT_SECONDS:
            self.stopgap.start()

    def _load_spare_if_due(self) -> None:
        """Load a spare process once the part has begun. One that ends is replaced later."""
        if self._spare and self._spare[0].poll() is not None:
            self._end_spare()
        if not self.has_spare or self._spare or self._turn or time.monotonic() < self._spare_at:
            return
        self._spare_at = time.monotonic() + MAX_WAIT_SECONDS
        try:
            with raising_cannot_start(self.log.parent):
                self._spare = self._run()
        except CannotStart:
            return  # its log cannot be written now: the next try is in half a minute

    def _take_spare(self) -> tuple[subprocess.Popen[bytes], Turn | None] | None:
        spare, self._spare = self._spare, None
        return spare if spare and spare[0].poll() is None else None

    def _end_spare(self) -> None:
        if self._spare:
            process, turn = self._spare
            self._spare = None
            if turn:
                turn.close()
            # It has done nothing yet.
            stop(process, signal.SIGKILL, MAX_WAIT_SECONDS)

    def _run(self) -> tuple[subprocess.Popen[bytes], Turn | None]:
        turn = Turn() if self.takes_turns else None
        with self.log.open("ab") as log:
            if self.process is None:
                self._read_to = log.tell()
            process = subprocess.Popen(
                [*self.argv, OPTION] if turn else self.argv,
                stdin=turn.theirs if turn else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.env,
                pass_fds=self.pass_fds,
                # A terminal's Ctrl-C is for us alone: we stop the parts in order. Linux shares the cores out by
                # sessions: with one of its own, a part is not slowed by the others.
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
        if turn:
            turn.close_theirs()
        return process, turn


def describe_exit(code: int) -> str:
    """Return the exit code of a process, or the signal that ended it, as text."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
