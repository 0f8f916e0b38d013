"""The trainer's end of the process that runs the user's code: starts it, asks it, listens for so long, ends it."""

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

PROJECT = Path(__file__).parents[3]
PROGRAM = "workers.tasks.own.child"
LONGEST_ANSWER = 256 * 2**20
"""Bytes of a line: the examples of both splits."""
LOG_TAIL = 16_000
"""Bytes of the last output that an error carries."""
PASSED_ON = 256_000
"""Bytes of output that go on to the trainer's log; what follows is left out."""
CHUNK = 65536
DEATH_SECONDS, CLOSED_SECONDS = 5.0, 1.0
"""How long a killed process may take to be gone; and one whose pipe is closed, before it is taken to go on without."""
TRACEBACK_SECONDS, QUIET_SECONDS = 5.0, 0.2
"""How long a process that hangs has to say where, and after what silence it has said all of it."""
CURRENT, FRAME = "Current thread", re.compile(r'File "([^"\n]+)", line (\d+) in (\S+)')


class ChildFailed(RuntimeError):
    """The process hung, died or spoke nonsense, and is no more. `details` holds the end of its output."""

    def __init__(self, reason: str, details: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.details = details


class Child:
    """One process, started at once. It ends with `end`, with this object and with the trainer."""

    def __init__(self) -> None:
        listens, life = os.pipe()
        try:
            self._process = _started(listens)
        finally:
            os.close(listens)
        # The pipes and nothing else are kept by what ends the process, or this object would never be collected.
        self.end = weakref.finalize(self, _end, self._process, life)
        self._requests, self._answers, self._log = (
            pipe.fileno() for pipe in (self._process.stdin, self._process.stdout, self._process.stderr) if pipe
        )
        for pipe in (self._requests, self._answers, self._log):
            os.set_blocking(pipe, False)
        self._unsent, self._heard, self._tail, self._passed_on = b"", bytearray(), b"", 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, kind: str, body: Any) -> None:
        """Queues a request; it is sent while `answer` waits."""
        self._unsent += json.dumps({kind: body}).encode() + b"\n"

    def answer(self, seconds: float, too_long: str) -> dict[str, Any]:
        """The next answer. Raises ChildFailed where none came for so long, with `too_long` as the reason."""
        deadline, searched = time.monotonic() + seconds, 0
        while (end := self._heard.find(b"\n", searched)) < 0:
            searched, left = len(self._heard), deadline - time.monotonic()
            if searched > LONGEST_ANSWER:
                raise self._failed(f"the task's answer is longer than {LONGEST_ANSWER >> 20} MiB")
            # Late or not, what has come is read: it may have come in time, and the trainer itself stood still since.
            if self._exchange(max(left, 0)):
                deadline = time.monotonic() + seconds
            elif left <= 0 and len(self._heard) == searched:
                raise self._hung(too_long)
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        try:
            return dict(json.loads(line))
        except ValueError as error:
            raise self._failed(f"the process of the task sent what is no answer: {line[:80]!r}") from error

    def _exchange(self, seconds: float) -> bool:
        """Reads and writes what it can. True where a part of a request was taken: the clock starts when all is sent."""
        writes = [self._requests] if self._unsent else []
        readable, writable, _ = select.select([self._answers, self._log], writes, [], seconds)
        if self._log in readable:
            self._listen_to_log()
        if self._answers in readable:
            heard = _read(self._answers)
            if not heard:
                raise self._failed(self._how_it_ended())
            self._heard += heard
        return bool(writable) and self._send()

    def _send(self) -> bool:
        try:
            sent = os.write(self._requests, self._unsent[:CHUNK])
        except (BrokenPipeError, BlockingIOError):
            return False
        self._unsent = self._unsent[sent:]
        return True

    def _listen_to_log(self) -> bool:
        """Takes what was printed: the end of it for errors, the beginning for the trainer's log."""
        said = _read(self._log)
        self._tail = (self._tail + said)[-LOG_TAIL:]
        room = PASSED_ON - self._passed_on
        if said and room > 0:
            sys.stderr.write(said[:room].decode(errors="replace"))
            self._passed_on += len(said)
            if len(said) >= room:
                sys.stderr.write(f"\n[the task has printed {PASSED_ON} bytes; what else it prints is left out]\n")
            sys.stderr.flush()
        return bool(said)

    def _hung(self, reason: str) -> ChildFailed:
        """Lets the process write where each of its threads is, which works in the midst of C too; then ends it."""
        self._tail = b""
        self._process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + TRACEBACK_SECONDS
        while (left := until - time.monotonic()) > 0:
            silence = QUIET_SECONDS if self._place() else left
            if not select.select([self._log], [], [], min(left, silence))[0] or not self._listen_to_log():
                break
        place = self._place()
        where = f"; it was at {Path(place[1]).name}, line {place[2]}, in {place[3]}" if place else ""
        return self._failed(reason + where)

    def _place(self) -> re.Match[str] | None:
        """The innermost frame of the thread that ran, once the process has written it."""
        return FRAME.search(self._tail.decode(errors="replace").partition(CURRENT)[2])

    def _failed(self, reason: str) -> ChildFailed:
        self.end()
        return ChildFailed(reason, self._tail.decode(errors="replace"))

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(CLOSED_SECONDS)
        except subprocess.TimeoutExpired:
            return "the process of the task closed its pipe"
        if code < 0:
            killed = "; out of memory?" if -code == signal.SIGKILL else ""
            return f"the process of the task was ended by {signal.Signals(-code).name}{killed}"
        return f"the process of the task ended itself with exit code {code}; did the task call os._exit?"


def _started(life: int) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        # -P: the run's folder is no place to import from. -u: what is printed is seen even where the process is killed.
        [sys.executable, "-P", "-u", "-m", PROGRAM, str(life)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        pass_fds=[life],
        start_new_session=True,
        bufsize=0,
    )


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, CHUNK)
    except BlockingIOError:
        return b""


def _end(process: subprocess.Popen[bytes], life: int) -> None:
    """Kills it with all that it started in its group: a reward that hangs does not listen to SIGTERM."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    os.close(life)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(DEATH_SECONDS)
