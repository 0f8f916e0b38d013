"""An attempt's directory, as all who meet there know it: agent, executors, manager. Stdlib only.

spec.json          the program and its needs, from the executor
claim/owner.json   which agent has it, made once
lease.json         {"epoch"}: the newest epoch; agents of older ones stop
heartbeat.json     {"n", "epoch", "pid", ...}: a counter that grows, and the program's process
exit.json          {"code", "signal", "epoch", "started_at", "ended_at", "timed_out", "stopped", "oom_kills"}: the end,
                   written once; `oom_kills`: processes of its control group that the kernel killed in the last minute
                   for lack of memory, null if unknown
claim/reserve      the space that exit.json takes where the disk is full by then
log.txt            what the program and its agent print
site-token         the token that the site made for the attempt, readable by its account alone
scorer-token       the token of the scorer that the attempt calls or is, readable by its account alone
engine-nodes.json  where other nodes of the job reach the training process, and their token; while it runs, for it alone
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUN_CONFIG, EXIT_RECORD, LOG_FILE, REPLAY_LOG = "run.json", "exit.json", "log.txt", "replay.jsonl"
SITE_TOKEN, SCORER_TOKEN = "site-token", "scorer-token"
TOKEN_FILES = (SITE_TOKEN, SCORER_TOKEN)
NODE_CONTACT = "engine-nodes.json"
READABLE, PRIVATE = 0o666, 0o600
"""Modes of new files, before the umask."""
DUPLICATE, DISK_FULL, RESUMABLE, FENCED, ORPHANED, NOT_STARTED = 64, 74, 75, 76, 77, 127
"""Exit codes: claimed by another agent; disk full; checkpointed, resume me; an older epoch; the agent is gone; no such
program."""
RESERVE_BYTES = 4096
BLOCK_BYTES = 512
"""`st_blocks` counts in these, on every disk."""
FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_MESSAGES = tuple(os.strerror(number) for number in FULL)
ALREADY_CLAIMED = "already claimed by process"
"""Beginning of an agent's message that another agent has the attempt."""
CLOSED_EPOCH = 2**31 - 1
"""A lease that no agent can hold: an agent that starts under it ends immediately."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Process:
    """One process, identified permanently: a pid is used again, a pid with its start time and the boot id is not."""

    pid: int
    started: str
    boot: str

    @classmethod
    def at(cls, pid: int) -> Process | None:
        """Return the process that has this pid now; None if there is none, or if only a zombie is left."""
        on_linux = BOOT_ID.exists()
        state, started = _stat(pid) if on_linux else _ask_ps(pid)
        return None if state in ("", "Z", "X") else cls(pid, started, BOOT_ID.read_text().strip() if on_linux else "")

    @classmethod
    def recorded(cls, data: dict[str, Any] | None) -> Process | None:
        """Return the process that one of the files names, or None."""
        return cls(data["pid"], data["started"], data["boot"]) if data and "started" in data else None

    def is_alive(self) -> bool:
        """Return whether this very process runs, and not another one with its pid."""
        return self == Process.at(self.pid)

    def is_of_this_boot(self) -> bool:
        """Return False if the machine was restarted since."""
        return self.boot == (BOOT_ID.read_text().strip() if BOOT_ID.exists() else "")

    def send(self, number: signal.Signals) -> None:
        """Signal this very process or none: with a pidfd the pid cannot be reused between check and signal."""
        with contextlib.suppress(ProcessLookupError):
            if not hasattr(os, "pidfd_open"):
                if self.is_alive():
                    os.kill(self.pid, number)
                return
            handle = os.pidfd_open(self.pid)
            try:
                if self.is_alive():
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)


def write_json(path: Path, data: Any, *, sync: bool = False) -> None:
    """Replace a file whole. Raise OSError."""
    write_whole(path, json.dumps(data), sync=sync)


def write_json_anyhow(path: Path, data: Any, *, sync: bool = False) -> None:
    """Replace a file whole, or overwrite it if the disk is full. Raise OSError."""
    try:
        write_json(path, data, sync=sync)
    except OSError as error:
        if not is_disk_full(error) or not path.exists():
            raise
        overwrite_json(path, data)


def write_whole(path: Path, text: str, *, sync: bool = False, mode: int = READABLE) -> None:
    """Replace a file of any text: a reader sees the old file or the new one. Raise OSError."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(draft, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(text)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    if sync:
        sync_directory(path.parent)


def reserve(path: Path) -> None:
    """Make a file that `write_reserved` can turn into another one, however full the disk is by then. Raise OSError."""
    with path.open("wb") as file:
        file.write(bytes(RESERVE_BYTES))
        file.flush()
        os.fsync(file.fileno())


def write_reserved(reserved: Path, path: Path, data: Any) -> None:
    """Replace a file whole by the reserved one, whose bytes are overwritten in place. Raise OSError."""
    overwrite_json(reserved, data)
    reserved.replace(path)
    sync_directory(path.parent)


def overwrite_json(path: Path, data: Any) -> None:
    """Overwrite a file in the space that it has, for a disk that is full. Raise OSError if that is not enough.

    The text is written in one call and ends in blanks, so that a kill leaves the old one or the new one. A power cut
    may leave neither.
    """
    text = json.dumps(data).encode()
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        file = os.fstat(handle)
        if len(text) > max(file.st_blocks * BLOCK_BYTES, file.st_size):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.pwrite(handle, text.ljust(file.st_size), 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether this error, or one that it came from, is a full disk or a quota that is used up.

    Libraries that are not written in Python raise errors of their own, with the cause only in the message. Errors of
    this package may quote another machine, whose disk is not meant.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        is_ours = type(error).__module__.startswith("workers.")
        if not is_ours and any(message in str(error) for message in FULL_MESSAGES):
            return True
        error = error.__cause__ or error.__context__
    return False


def drop_output_if_full() -> None:
    """Drop what stdout and stderr could not write to a full disk, or Python would exit with 120 instead of our code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with Path(os.devnull).open("wb") as nothing:
                os.dup2(nothing.fileno(), stream.fileno())


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file, or None if there is no file or it holds none."""
    try:
        data = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def is_stop(ending: Mapping[str, Any]) -> bool:
    """Return whether the program of this exit record ended because it was asked to stop.

    One that was done before it stopped, that failed, or that the kernel killed for lack of memory did not.
    """
    number, was_requested = ending.get("signal"), bool(ending.get("stopped") or ending.get("timed_out"))
    was_killed = number == signal.SIGKILL and was_requested and not ending.get("oom_kills")
    return ending.get("code") == RESUMABLE or number == signal.SIGTERM or was_killed


def sync_directory(directory: Path) -> None:
    """Make what was renamed in there survive a power cut. Raise OSError."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def claim_path(directory: Path, epoch: int = 0) -> Path:
    """Return the directory whose existence means that an agent of that epoch has begun."""
    return directory / (f"claim.{epoch}" if epoch else "claim")


def owner(directory: Path, epoch: int = 0) -> Process | None:
    """Return the agent that claimed the attempt, or None if none has."""
    return Process.recorded(read_json(claim_path(directory, epoch) / "owner.json"))


def lease(directory: Path) -> int:
    """Return the epoch that may run now."""
    return int((read_json(directory / "lease.json") or {}).get("epoch", 0))


def raise_lease(directory: Path, epoch: int) -> None:
    """Make agents of older epochs stop within a heartbeat from now on. Never lower the lease. Raise OSError."""
    if lease(directory) < epoch:
        write_json(directory / "lease.json", {"epoch": epoch}, sync=True)


def _stat(pid: int) -> tuple[str, str]:
    """Return (state letter, start time in ticks since boot) from /proc; ("", "") if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    return fields[0].decode(), fields[19].decode()


def _ask_ps(pid: int) -> tuple[str, str]:
    """Return the same without /proc: the start time is then a date."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    output = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False
    ).stdout
    state, _, started = output.strip().partition(" ")
    return state[:1], " ".join(started.split())
