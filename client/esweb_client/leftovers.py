"""Find spools in folders, and tell those of living programs from those that ended."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from esweb_client.locks import try_lock
from esweb_client.spool import META, OWNER, SENT, read_json


def find_spools(directory: Path) -> list[Path]:
    """Return the spools in a folder, in a run's folder, or the folder if it is one, in the order of their starts."""
    patterns = (META, f"*/{META}", f"*/*/{META}")
    folders = {file.parent for pattern in patterns for file in directory.glob(pattern)}
    return sorted(folders, key=lambda folder: (_started_at(folder), folder))


def is_live(folder: Path) -> bool:
    """Return whether a program, or a process that it forked, still writes to the spool."""
    try:
        descriptor = try_lock(folder / OWNER)
    except OSError:
        return False
    if descriptor is None:
        return True
    with contextlib.suppress(OSError):
        os.close(descriptor)
    return False


def is_sent(folder: Path) -> bool:
    """Return whether a server has everything in the spool."""
    return read_json(folder / SENT).get("ended") is True


def find_leftovers(run_folder: Path, own: Path) -> list[Path]:
    """Return the spools of earlier starts of a run that ended before everything was sent."""
    return [f for f in find_spools(run_folder) if f != own and not is_sent(f) and not is_live(f)]


def _started_at(folder: Path) -> float:
    started_at = read_json(folder / META).get("request", {}).get("started_at")
    return float(started_at) if isinstance(started_at, (int, float)) else 0.0
