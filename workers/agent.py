"""Owns one attempt on the machine where it runs: `python -m workers.agent DIR [--epoch N] [--detach]`. Stdlib only.

It claims the attempt (a second agent of the same epoch exits 64 and starts nothing; one that finds the disk full exits
74), runs the program of DIR/spec.json, beats while that lives, stops it where a newer epoch has taken over (76), and
writes down how it ended, into space that it took with the claim. SIGUSR1 ("make a checkpoint") and SIGTERM ("stop") are
passed on; after SIGTERM the program has a grace, then its whole process group is killed. Where the kernel can, the
program dies with its agent. The files are described in `workers/attempt.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import math
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workers.attempt import (
    ALREADY_CLAIMED,
    DISK_FULL,
    DUPLICATE,
    FENCED,
    NOT_STARTED,
    ORPHANED,
    Process,
    claim_path,
    drop_output_if_full,
    is_disk_full,
    lease,
    owner,
    raise_lease,
    read_json,
    reserve,
    sync_directory,
    write_json,
    write_json_anyhow,
    write_reserved,
)

BAD_SPEC = 2
EXIT_PATIENCE_SECONDS = 600.0
PR_SET_PDEATHSIG = 1
RESERVE = "reserve"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def claim(directory: Path, epoch: int) -> Process | None:
    """Takes the attempt and returns None, or returns who had it already. Raises OSError.

    The claim is made whole under another name and then renamed, so that it never exists without its owner.
    """
    target = claim_path(directory, epoch)
    draft = directory / f".claim.{secrets.token_hex(4)}"
    draft.mkdir()
    try:
        write_json(draft / "owner.json", asdict(_me()), sync=True)
        reserve(draft / RESERVE)
        draft.rename(target)
    except OSError:
        if (first := owner(directory, epoch)) is None:
            raise
        return first
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    sync_directory(directory)
    return None


def attend(directory: Path, epoch: int, tell: Callable[[int], None]) -> int:
    """Claims the attempt, runs its program to the end, returns its own exit code. `tell` hears 0 once claimed."""
    mailbox = _Mailbox()
    refusal = _refusal(directory, epoch)
    tell(refusal)
    return refusal or _Watch(directory, epoch, mailbox).run()


def _refusal(directory: Path, epoch: int) -> int:
    """0 where the attempt is now this agent's; else the exit code that says why it is not."""
    if read_json(directory / "spec.json") is None:
        _say(f"{directory / 'spec.json'} is missing or holds no job")
        return BAD_SPEC
    try:
        first = claim(directory, epoch)
        if first is None:
            _raise_lease(directory, epoch)
    except OSError as error:
        if not is_disk_full(error):
            raise
        _say(f"disk full: {directory} takes no claim; nothing is started")
        return DISK_FULL
    if first is not None:
        _say(f"{ALREADY_CLAIMED} {first.pid}; I am {os.getpid()} and start nothing")
        return DUPLICATE
    # After the claim, never before: whoever closes the lease and then sees no claim knows that nothing will start.
    if lease(directory) > epoch:
        _say(f"epoch {epoch} is over; nothing is started")
        return FENCED
    return 0


def _raise_lease(directory: Path, epoch: int) -> None:
    """Raise the lease of an attempt that is claimed. Give the claim up and raise OSError if that cannot be written."""
    try:
        raise_lease(directory, epoch)
    except OSError:
        shutil.rmtree(claim_path(directory, epoch))
        raise


class _Mailbox:
    """Signals as bytes to read: none is lost between two looks, and a wait for one ends at once."""

    def __init__(self) -> None:
        self._out, self._in = socket.socketpair()
        self._out.setblocking(False)
        self._in.setblocking(False)
        signal.set_wakeup_fd(self._in.fileno(), warn_on_full_buffer=False)
        for number in (*STOP_SIGNALS, signal.SIGUSR1, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)

    def wait(self, seconds: float) -> bytes:
        """The numbers of the signals that came, after at most so long."""
        select.select([self._out], [], [], max(0.0, seconds))
        with contextlib.suppress(BlockingIOError):
            return self._out.recv(4096)
        return b""


class _Watch:
    """The program's life. Durations are of the monotonic clock: the machine's own may be set while it runs."""

    def __init__(self, directory: Path, epoch: int, mailbox: _Mailbox) -> None:
        self.directory, self.epoch, self.mailbox = directory, epoch, mailbox
        self.spec: dict[str, Any] = read_json(directory / "spec.json") or {}
        self.beat_seconds = float(self.spec.get("beat_seconds", 15.0))
        self.grace_seconds = float(self.spec.get("grace_seconds", 30.0))
        self.started_at, self.start = time.time(), time.monotonic()
        self.limit_at = self.start + (float(self.spec.get("time_limit_seconds", 0)) or math.inf)
        self.beat_at, self.kill_at, self.beats = self.start, math.inf, 0
        self.stopped = self.timed_out = False

    def run(self) -> int:
        """Starts the program, follows it to its end, and records that."""
        try:
            self.program = self._start()
        except (OSError, subprocess.SubprocessError) as error:
            _say(f"the program did not start: {error}")
            return self._record(NOT_STARTED)
        self.identity = Process.at(self.program.pid)
        while self.program.poll() is None:
            if not self._tend():
                self._kill()
                self.program.wait()
                _say(f"epoch {self.epoch} is over; the program was killed")
                return FENCED
            wake_at = min(self.beat_at, self.kill_at, self.limit_at)
            for number in self.mailbox.wait(wake_at - time.monotonic()):
                self._hear(number)
        # What the program left behind in its group; its pid cannot have been given away in the microseconds since.
        self._kill()
        return self._record(self.program.returncode)

    def _start(self) -> subprocess.Popen[bytes]:
        with (self.directory / "log.txt").open("ab") as log:
            return subprocess.Popen(
                self.spec["argv"],
                cwd=self.directory,
                env={**os.environ, **(self.spec.get("env") or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_dies_with_its_agent() if sys.platform == "linux" else None,
            )

    def _tend(self) -> bool:
        """Whatever is due now; False where a newer epoch has taken over."""
        now = time.monotonic()
        if now >= self.kill_at:
            self.kill_at = math.inf
            self._kill()
        if now >= self.limit_at:
            self.limit_at = math.inf
            self.timed_out = not self.stopped
            self._stop()
        if now >= self.beat_at:
            self.beat_at = now + self.beat_seconds
            return self._beat()
        return True

    def _beat(self) -> bool:
        self.beats += 1
        who = asdict(self.identity) if self.identity else {"pid": self.program.pid}
        try:
            write_json_anyhow(self.directory / "heartbeat.json", {"n": self.beats, "epoch": self.epoch, **who})
            return lease(self.directory) <= self.epoch
        except OSError as error:
            # A disk that is away for a while stops no training: the beat is missed and the next one tried.
            _say(f"heartbeat {self.beats} was not written: {error}")
            return True

    def _hear(self, number: int) -> None:
        if number == signal.SIGUSR1:
            self._pass_on(signal.SIGUSR1)
        elif number in STOP_SIGNALS and not self.stopped:
            self.stopped = True
            self._stop()

    def _stop(self) -> None:
        if math.isinf(self.kill_at):
            self.kill_at = time.monotonic() + self.grace_seconds
            self._pass_on(signal.SIGTERM)

    def _pass_on(self, number: signal.Signals) -> None:
        _say(f"passes {number.name} on to the program")
        self.program.send_signal(number)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.program.pid, signal.SIGKILL)

    def _record(self, returncode: int) -> int:
        """Writes exit.json, again and again while the disk is away, unless a newer epoch has taken over."""
        elapsed = time.monotonic() - self.start
        ending = {
            "code": returncode if returncode >= 0 else None,
            "signal": -returncode if returncode < 0 else None,
            "epoch": self.epoch,
            "started_at": self.started_at,
            "ended_at": self.started_at + elapsed,
            "timed_out": self.timed_out,
            "stopped": self.stopped,
        }
        while True:
            try:
                if lease(self.directory) > self.epoch:
                    return FENCED
                self._write_ending(ending)
                return returncode if returncode >= 0 else 128 - returncode
            except OSError:
                is_hopeless = time.monotonic() > self.start + elapsed + EXIT_PATIENCE_SECONDS
                if is_hopeless or not self.directory.exists():
                    raise
                time.sleep(self.beat_seconds)

    def _write_ending(self, ending: dict[str, Any]) -> None:
        path = self.directory / "exit.json"
        try:
            write_json(path, ending, sync=True)
        except OSError as error:
            if not is_disk_full(error):
                raise
            write_reserved(claim_path(self.directory, self.epoch) / RESERVE, path, ending)


def _dies_with_its_agent() -> Callable[[], None]:
    """For the child, between fork and exec. The library is opened before the fork, where that is still safe."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    agent = os.getpid()

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != agent:
            os._exit(ORPHANED)

    return arrange


def _me() -> Process:
    me = Process.at(os.getpid())
    if me is None:
        raise ProcessLookupError("this process cannot find itself")
    return me


def _say(words: str) -> None:
    with contextlib.suppress(OSError):
        print(f"esweb agent: {words}", file=sys.stderr, flush=True)


def main() -> int:
    """With --detach: returns as soon as the claim is decided (0, 64 or 76), and a process of its own goes on."""
    parser = argparse.ArgumentParser(prog="python -m workers.agent", description="Runs one attempt to its end.")
    parser.add_argument("directory", type=Path, help="the attempt's directory, which holds spec.json")
    parser.add_argument("--epoch", type=int, default=0, help="the scheduler's restarts of this attempt so far")
    parser.add_argument("--detach", action="store_true", help="go on in a session of its own")
    options = parser.parse_args()
    directory = options.directory.resolve()
    if not options.detach:
        return attend(directory, options.epoch, lambda outcome: None)
    listen, speak = os.pipe()
    if os.fork():
        os.close(speak)
        return (os.read(listen, 1) or b"\x01")[0]
    os.close(listen)
    os.setsid()

    def tell(outcome: int) -> None:
        # Whoever started this agent may be dead by now; the attempt goes on without them.
        with contextlib.suppress(BrokenPipeError):
            os.write(speak, bytes([outcome]))
        os.close(speak)

    return attend(directory, options.epoch, tell)


if __name__ == "__main__":
    code = main()
    drop_output_if_full()
    sys.exit(code)
