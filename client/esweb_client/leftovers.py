"""Find spools in folders, and tell those of living programs from those that ended."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from esweb_client.endings import count_lines_after
from esweb_client.locks import try_lock
from esweb_client.reader import Cursor
from esweb_client.registration import read_request, started_at
from esweb_client.spool import OWNER, RECORDS, SENT, read_json

MAX_DEPTH = 2
"""Folders between the one that is searched and a spool: that of the run, and the spool itself."""


@dataclass(frozen=True)
class SpoolSearch:
    """The spools below a folder in the order of their starts, and the folders that cannot be read, with the error."""

    spools: tuple[Path, ...]
    unreadable: tuple[tuple[Path, str], ...]


def search_spools(directory: Path) -> SpoolSearch:
    """Return the spools in a folder, in a run's folder, or the folder if it is one."""
    spools: list[Path] = []
    unreadable: list[tuple[Path, str]] = []
    folders = [(directory, 0)]
    for folder, depth in folders:
        try:
            if is_spool(folder):
                spools.append(folder)
            elif depth < MAX_DEPTH:
                with os.scandir(folder) as entries:
                    folders += [(folder / entry.name, depth + 1) for entry in entries if entry.is_dir()]
        except OSError as error:
            unreadable.append((folder, error.strerror or str(error)))
    ordered = sorted(spools, key=lambda folder: (started_at(folder), folder))
    return SpoolSearch(tuple(ordered), tuple(sorted(unreadable)))


def find_spools(directory: Path) -> list[Path]:
    """Return the spools below a folder that can be read, in the order of their starts."""
    return list(search_spools(directory).spools)


def is_spool(folder: Path) -> bool:
    """Return whether a program recorded into the folder, also if a full disk prevented some of its files. Raise OSError
    if it cannot be read."""
    with os.scandir(folder) as entries:
        names = {entry.name for entry in entries}
    return RECORDS in names or OWNER in names or bool(read_request(folder))


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
    """Return whether a server has everything in the spool, also what was written after its end. Raise OSError."""
    sent = read_json(folder / SENT)
    if sent.get("ended") is not True:
        return False
    offset, seq = sent.get("offset"), sent.get("seq")
    if not (isinstance(offset, int) and isinstance(seq, int)):
        return True
    return seq + count_lines_after(folder, Cursor(offset, seq)) <= int(sent.get("next_seq", seq))


def find_leftovers(run_folder: Path, own: Path | None) -> list[Path]:
    """Return the spools of earlier starts of a run that ended before everything was sent."""
    return [f for f in find_spools(run_folder) if f != own and not is_live(f) and not _is_surely_sent(f)]


def _is_surely_sent(folder: Path) -> bool:
    try:
        return is_sent(folder)
    except OSError:
        return False
