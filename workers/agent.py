"""Owns one attempt on the machine where it runs: `python -m workers.agent DIR [--epoch N] [--detach]`. Stdlib only.

It claims the attempt (a second agent of the same epoch exits 64 and starts nothing; one that finds the disk full exits
74), runs the program of DIR/spec.json, sends heartbeats while it lives, stops it if a newer epoch has taken over (76),
and writes its result down, into space that it took with the claim. SIGUSR1 ("make a checkpoint") and SIGTERM ("stop")
are passed on; after SIGTERM the program has a grace, then its whole process group is killed. If the kernel supports it,
the program dies with its agent. The files are described in `workers/attempt.py`.
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
from workers.oom_kills import RecentOomKills

BAD_SPEC = 2
EXIT_PATIENCE_SECONDS = 600.0
MAX_NICENESS = 19
PR_SET_PDEATHSIG = 1
RESERVE = "reserve"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def claim(directory: Path, epoch: int) -> Process | None:
    """Take the attempt and return None, or return the process that had it already. Raise OSError.

    The claim is made whole under another name and then renamed, so that it never exists without its owner.
    """
    target = claim_path(directory, epoch)
    draft = directory / f".claim.{secrets.token_hex(4)}"
    draft.mkdir()
    try:
        write_json(draft / "owner.json", asdict(_own_process()), sync=True)
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


def run_attempt(directory: Path, epoch: int, report: Callable[[int], None]) -> int:
    """Claim the attempt, run its program to the end, and return its own exit code. `report` is called with 0 once
    claimed."""
    signals = _SignalQueue()
    refusal = _claim_or_refuse(directory, epoch)
    report(refusal)
    return refusal or _Watch(directory, epoch, signals).run()


def _claim_or_refuse(directory: Path, epoch: int) -> int:
    """Claim the attempt. Return 0, or the exit code that explains why the attempt is not this agent's."""
    if read_json(directory / "spec.json") is None:
        _log(f"{directory / 'spec.json'} is missing or does not contain a job")
        return BAD_SPEC
    try:
        first = claim(directory, epoch)
        if first is None:
            _raise_lease(directory, epoch)
    except OSError as error:
        if not is_disk_full(error):
            raise
        _log(f"disk full: no claim can be written to {directory}; nothing is started")
        return DISK_FULL
    if first is not None:
        _log(f"{ALREADY_CLAIMED} {first.pid}; process {os.getpid()} starts nothing")
        return DUPLICATE
    # After the claim, never before: a process that closes the lease and then sees no claim knows nothing will start.
    if lease(directory) > epoch:
        _log(f"epoch {epoch} is over; nothing is started")
        return FENCED
    return 0


def _raise_lease(directory: Path, epoch: int) -> None:
    """Raise the lease of an attempt that is claimed. Give the claim up and raise OSError if that cannot be written."""
    try:
        raise_lease(directory, epoch)
    except OSError:
        shutil.rmtree(claim_path(directory, epoch))
        raise


class _SignalQueue:
    """Signals as bytes to read: none is lost between two reads, and a wait for one ends immediately."""

    def __init__(self) -> None:
        self._out, self._in = socket.socketpair()
        self._out.setblocking(False)
        self._in.setblocking(False)
        signal.set_wakeup_fd(self._in.fileno(), warn_on_full_buffer=False)
        for number in (*STOP_SIGNALS, signal.SIGUSR1, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)

    def wait(self, seconds: float) -> bytes:
        """Return the numbers of the signals that came, after at most so many seconds."""
        select.select([self._out], [], [], max(0.0, seconds))
        with contextlib.suppress(BlockingIOError):
            return self._out.recv(4096)
        return b""


class _Watch:
    """Supervisor of the program. Durations are of the monotonic clock: the machine's own may be set while it runs."""

    def __init__(self, directory: Path, epoch: int, signals: _SignalQueue) -> None:
        self.directory, self.epoch, self.signals = directory, epoch, signals
        self.spec: dict[str, Any] = read_json(directory / "spec.json") or {}
        self.beat_seconds = float(self.spec.get("beat_seconds", 15.0))
        self.grace_seconds = float(self.spec.get("grace_seconds", 30.0))
        self.started_at, self.start = time.time(), time.monotonic()
        self.limit_at = self.start + (float(self.spec.get("time_limit_seconds", 0)) or math.inf)
        self.beat_at, self.kill_at, self.beats = self.start, math.inf, 0
        self.stopped = self.timed_out = False
        self.oom_kills = RecentOomKills()

    def run(self) -> int:
        """Start the program, supervise it until it ends, and record the result."""
        try:
            self.program = self._start()
        except (OSError, subprocess.SubprocessError) as error:
            _log(f"the program did not start: {error}")
            return self._record(NOT_STARTED)
        self.identity = Process.at(self.program.pid)
        while self.program.poll() is None:
            if not self._do_due_work():
                self._kill()
                self.program.wait()
                _log(f"epoch {self.epoch} is over; the program was killed")
                return FENCED
            wake_at = min(self.beat_at, self.kill_at, self.limit_at)
            for number in self.signals.wait(wake_at - time.monotonic()):
                self._handle_signal(number)
        # Kills what the program left in its group; its pid cannot have been given away in the microseconds since.
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
                preexec_fn=program_setup(int(self.spec.get("niceness", 0))),
            )

    def _do_due_work(self) -> bool:
        """Do the work that is due now. Return False if a newer epoch has taken over."""
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
        self.oom_kills.read()
        process = asdict(self.identity) if self.identity else {"pid": self.program.pid}
        try:
            write_json_anyhow(self.directory / "heartbeat.json", {"n": self.beats, "epoch": self.epoch, **process})
            return lease(self.directory) <= self.epoch
        except OSError as error:
            # A disk that is away for a while stops no training: this heartbeat is missed and the next one tried.
            _log(f"heartbeat {self.beats} could not be written: {error}")
            return True

    def _handle_signal(self, number: int) -> None:
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
        _log(f"forwards {number.name} to the program")
        self.program.send_signal(number)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.program.pid, signal.SIGKILL)

    def _record(self, returncode: int) -> int:
        """Write exit.json, repeatedly while the disk is away, unless a newer epoch has taken over."""
        elapsed = time.monotonic() - self.start
        ending = {
            "code": returncode if returncode >= 0 else None,
            "signal": -returncode if returncode < 0 else None,
            "epoch": self.epoch,
            "started_at": self.started_at,
            "ended_at": self.started_at + elapsed,
            "timed_out": self.timed_out,
            "stopped": self.stopped,
            "oom_kills": self.oom_kills.count(),
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


def death_signal_setter() -> Callable[[], None] | None:
    """Return a function for the child, between fork and exec, by which the kernel ends it with the thread that forks.

    None if the kernel is not Linux. The library is opened before the fork, which is safe.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def set_death_signal() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(ORPHANED)

    return set_death_signal


def program_setup(niceness: int) -> Callable[[], None]:
    """Return a function for the program, between fork and exec: it dies with us, and lets other processes go first."""
    set_death_signal = death_signal_setter()

    def set_up() -> None:
        if set_death_signal:
            set_death_signal()
        if niceness:
            os.nice(niceness)
            # Linux may share the cores out by sessions; between them the niceness of a process means nothing.
            with contextlib.suppress(OSError):
                Path("/proc/self/autogroup").write_text(str(min(niceness, MAX_NICENESS)), encoding="ascii")

    return set_up


def _own_process() -> Process:
    process = Process.at(os.getpid())
    if process is None:
        raise ProcessLookupError("this process cannot read its own /proc entry")
    return process


def _log(message: str) -> None:
    with contextlib.suppress(OSError):
        print(f"esweb agent: {message}", file=sys.stderr, flush=True)


def main() -> int:
    """Run the command line. With --detach, return once the claim is decided (0, 64 or 76); another process
    continues."""
    parser = argparse.ArgumentParser(prog="python -m workers.agent", description="Run one attempt until it finishes.")
    parser.add_argument("directory", type=Path, help="directory of the attempt, with spec.json")
    parser.add_argument(
        "--epoch", type=int, default=0, help="number of the scheduler's restarts of this attempt so far"
    )
    parser.add_argument("--detach", action="store_true", help="continue in a new session")
    options = parser.parse_args()
    directory = options.directory.resolve()
    if not options.detach:
        return run_attempt(directory, options.epoch, lambda outcome: None)
    read_end, write_end = os.pipe()
    if os.fork():
        os.close(write_end)
        return (os.read(read_end, 1) or b"\x01")[0]
    os.close(read_end)
    os.setsid()

    def report(outcome: int) -> None:
        # The process that started this agent may have ended; the attempt continues without it.
        with contextlib.suppress(BrokenPipeError):
            os.write(write_end, bytes([outcome]))
        os.close(write_end)

    return run_attempt(directory, options.epoch, report)


if __name__ == "__main__":
    code = main()
    drop_output_if_full()
    sys.exit(code)
