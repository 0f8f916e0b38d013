"""Find processes by their session, which they keep under any title: Ray's titles overwrite their environment."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from workers.attempt import Process


def members(first: Process) -> list[int]:
    """Return the pids of running processes of the session that this process started.

    The session's number is not used again while it has members.
    """
    if Process.at(first.pid) not in (None, first):
        return []
    return [pid for proc in Path("/proc").glob("[0-9]*") if _session_of(pid := int(proc.name)) == first.pid]


def end_session(first: Process) -> None:
    """Kill all members of the session."""
    for pid in members(first):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _session_of(pid: int) -> int | None:
    """Return the session of a process, or None if it does not exist or is a zombie."""
    try:
        state, _, _, session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else int(session)
