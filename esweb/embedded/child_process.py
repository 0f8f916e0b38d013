"""Child processes that end when we end, and readable errors if one cannot be started."""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
ORPHAN_SECONDS = 10.0
FIRM_SECONDS = 10.0
LINUX = sys.platform == "linux"
# Loaded before any fork: between fork and exec only the plain calls below are safe.
LIBC = ctypes.CDLL(None, use_errno=True) if LINUX else None


class CannotStart(Exception):
    """An error that a user must fix before this can start; the message gives it in a sentence."""


@contextmanager
def raising_cannot_start(folder: Path) -> Iterator[None]:
    """Turn a full disk, a read-only folder and similar errors into CannotStart."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise CannotStart(f"The disk of {folder} is full.") from error
        raise CannotStart(
            f"The data folder {folder} cannot be used: {error.strerror} ({error.filename or folder})."
        ) from error


def binary(package: str, *parts: str) -> Path:
    """Return a program of an installed package, found without importing it. Raise CannotStart if there is none."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CannotStart(
            f"The package {package} is not installed. Run `make setup`, or set DATABASE_URL and REDIS_URL."
        )
    paths = sorted(Path(spec.submodule_search_locations[0]).glob("/".join(parts)))
    if not paths:
        raise CannotStart(f"The package {package} has no {parts[-1]} for this type of machine.")
    return paths[0]


def die_with_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn`: the kernel sends the child this signal when we die, even by kill -9. Linux only."""
    parent = os.getpid()

    def before_exec() -> None:
        if LIBC is None:
            return
        LIBC.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # we died before the kernel had registered the signal
            os._exit(1)

    return before_exec


def is_running_in(pid: int, folder: Path) -> bool:
    """Return whether a process of that id runs in that folder. Ids are reused; a server's working folder is its own."""
    proc = Path("/proc") / str(pid)
    with suppress(OSError):
        stat = (proc / "stat").read_text(encoding="utf-8", errors="replace")
        is_zombie = stat.rpartition(")")[2].split()[0] == "Z"
        return not is_zombie and (proc / "cwd").readlink() == folder.resolve()
    return False


def end_orphan(pid_file: Path, folder: Path, *stop_signals: signal.Signals) -> None:
    """End the server that an earlier, killed supervisor left in this folder, then remove its pid file.

    Each of the signals is given some seconds to work, the gentlest first.
    """
    with suppress(OSError, ValueError, IndexError):
        pid = int(pid_file.read_text(encoding="utf-8").split()[0])
        if not any(_end_with_signal(number, pid, folder) for number in stop_signals):
            raise CannotStart(f"Process {pid} is still running in {folder} and does not stop. Stop it first.")
    pid_file.unlink(missing_ok=True)


def _end_with_signal(number: signal.Signals, pid: int, folder: Path) -> bool:
    give_up_at = time.monotonic() + ORPHAN_SECONDS
    while is_running_in(pid, folder):
        if time.monotonic() > give_up_at:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        time.sleep(0.1)
    return True


def stop(
    process: subprocess.Popen[bytes],
    stop_signal: signal.Signals,
    patience_seconds: float,
    firmer: signal.Signals = signal.SIGKILL,
) -> None:
    """Send the process a signal to end, wait, send a firmer one if it does not, and kill it at last."""
    if process.poll() is not None:
        return
    for number, seconds in ((stop_signal, patience_seconds), (firmer, FIRM_SECONDS), (signal.SIGKILL, None)):
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def last_line(log: Path) -> str:
    """Return the newest non-empty line of a log, for an error message."""
    with suppress(OSError):
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else "it said nothing"
    return "it said nothing"
