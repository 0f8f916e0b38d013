"""Processes by their session, which they keep whatever their title: Ray's titles overwrite their environment."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from workers.attempt import Process


def members(first: Process) -> list[int]:
    """Those that live, of the session that this process began. Its number is not given away while there are others."""
    if Process.at(first.pid) not in (None, first):
        return []
    return [pid for proc in Path("/proc").glob("[0-9]*") if _session_of(pid := int(proc.name)) == first.pid]


def end_session(first: Process) -> None:
    """Kills them."""
    for pid in members(first):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _session_of(pid: int) -> int | None:
    """None where there is no such process, or only a zombie is left of it."""
    try:
        state, _, _, session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else int(session)
