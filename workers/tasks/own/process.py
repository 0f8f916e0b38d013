"""The trainer's end of the process that runs the user's code: start it, send requests, read replies, end it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

from workers.oom_kills import RecentOomKills

PROJECT = Path(__file__).parents[3]
PROGRAM = "workers.tasks.own.child"
MAX_REPLY_BYTES = 256 * 2**20
"""For one line: the examples of both splits."""
MAX_TAIL_BYTES = 16_000
"""The end of the output that an error carries."""
MAX_FORWARDED_BYTES = 256_000
"""Output that is forwarded to the trainer's log; the rest is left out."""
CHUNK = 65536
DEATH_SECONDS, CLOSED_SECONDS = 5.0, 1.0
"""Seconds for a killed process to end, and for one whose pipe is closed, before it counts as running without it."""
TRACEBACK_SECONDS, QUIET_SECONDS = 5.0, 0.2
"""Seconds for a hanging process to write its traceback, and of silence after which the traceback counts as complete."""
CURRENT, FRAME = "Current thread", re.compile(r'File "([^"\n]+)", line (\d+) in (\S+)')


class ChildFailed(RuntimeError):
    """The process hung, died or sent an invalid reply, and has ended. `details` holds the end of its output."""

    def __init__(self, reason: str, details: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.details = details


class Child:
    """One process, started immediately. It ends with `end`, with this object and with the trainer."""

    def __init__(self) -> None:
        read_end, lifeline = os.pipe()
        try:
            self._process = _start_process(read_end)
        finally:
            os.close(read_end)
        # The finalizer refers to the pipes and nothing else, or this object would never be collected.
        self.end = weakref.finalize(self, _end, self._process, lifeline)
        self._requests, self._answers, self._log = (
            pipe.fileno() for pipe in (self._process.stdin, self._process.stdout, self._process.stderr) if pipe
        )
        for pipe in (self._requests, self._answers, self._log):
            os.set_blocking(pipe, False)
        self._unsent, self._received, self._tail, self._forwarded = b"", bytearray(), b"", 0
        self._oom_kills = RecentOomKills()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, kind: str, body: Any) -> None:
        """Queue a request; it is sent while `answer` waits."""
        self._oom_kills.read()
        self._unsent += json.dumps({kind: body}).encode() + b"\n"

    def answer(self, seconds: float, too_long: str) -> dict[str, Any]:
        """Return the next reply. Raise ChildFailed with `too_long` as the reason if none arrives in that time."""
        deadline, searched = time.monotonic() + seconds, 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched, left = len(self._received), deadline - time.monotonic()
            if searched > MAX_REPLY_BYTES:
                raise self._failed(f"the task's reply is longer than {MAX_REPLY_BYTES >> 20} MiB")
            # Data is read even if late: it may have arrived in time, while the trainer itself was suspended.
            if self._exchange(max(left, 0)):
                deadline = time.monotonic() + seconds
            elif left <= 0 and len(self._received) == searched:
                raise self._hung(too_long)
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        try:
            return dict(json.loads(line))
        except ValueError as error:
            raise self._failed(f"the process of the task sent an invalid reply: {line[:80]!r}") from error

    def _exchange(self, seconds: float) -> bool:
        """Read and write what is possible. Return whether a part of a request was taken: the clock starts once all is
        sent."""
        writes = [self._requests] if self._unsent else []
        readable, writable, _ = select.select([self._answers, self._log], writes, [], seconds)
        if self._log in readable:
            self._read_log()
        if self._answers in readable:
            received = _read(self._answers)
            if not received:
                raise self._failed(self._exit_reason())
            self._received += received
        return bool(writable) and self._send()

    def _send(self) -> bool:
        try:
            sent = os.write(self._requests, self._unsent[:CHUNK])
        except (BrokenPipeError, BlockingIOError):
            return False
        self._unsent = self._unsent[sent:]
        return True

    def _read_log(self) -> bool:
        """Read printed output: its end is for errors, its beginning for the trainer's log."""
        output = _read(self._log)
        self._tail = (self._tail + output)[-MAX_TAIL_BYTES:]
        room = MAX_FORWARDED_BYTES - self._forwarded
        if output and room > 0:
            sys.stderr.write(output[:room].decode(errors="replace"))
            self._forwarded += len(output)
            if len(output) >= room:
                sys.stderr.write(f"\n[the task has printed {MAX_FORWARDED_BYTES} bytes; further output is omitted]\n")
            sys.stderr.flush()
        return bool(output)

    def _hung(self, reason: str) -> ChildFailed:
        """Make the process write where each of its threads is, which works inside C code too; then end it."""
        self._tail = b""
        self._process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + TRACEBACK_SECONDS
        while (left := until - time.monotonic()) > 0:
            silence = QUIET_SECONDS if self._innermost_frame() else left
            if not select.select([self._log], [], [], min(left, silence))[0] or not self._read_log():
                break
        frame = self._innermost_frame()
        where = f"; it was at {Path(frame[1]).name}, line {frame[2]}, in {frame[3]}" if frame else ""
        return self._failed(reason + where)

    def _innermost_frame(self) -> re.Match[str] | None:
        """Return the innermost frame of the thread that ran, once the process has written it."""
        return FRAME.search(self._tail.decode(errors="replace").partition(CURRENT)[2])

    def _failed(self, reason: str) -> ChildFailed:
        self.end()
        return ChildFailed(reason, self._tail.decode(errors="replace"))

    def _exit_reason(self) -> str:
        try:
            code = self._process.wait(CLOSED_SECONDS)
        except subprocess.TimeoutExpired:
            return "the process of the task closed its pipe"
        if code < 0:
            kills = self._oom_kills.count() if -code == signal.SIGKILL else 0
            killed = f" for lack of memory: oom_kill of its control group rose by {kills}" if kills else ""
            return f"the process of the task was killed by {signal.Signals(-code).name}{killed}"
        return f"the process of the task exited with code {code}; did the task call os._exit?"


def _start_process(lifeline: int) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        # -P: nothing is imported from the run's folder. -u: output is seen even if the process is killed.
        [sys.executable, "-P", "-u", "-m", PROGRAM, str(lifeline)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        pass_fds=[lifeline],
        start_new_session=True,
        bufsize=0,
    )


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, CHUNK)
    except BlockingIOError:
        return b""


def _end(process: subprocess.Popen[bytes], lifeline: int) -> None:
    """Kill the process with its whole group: a reward that hangs does not react to SIGTERM."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    os.close(lifeline)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(DEATH_SECONDS)
