"""The folder in which a backup writes, next to its archive. A killed backup leaves it, and the next one removes it.

It holds a lock, so that nobody removes the folder of a backup that runs.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from esweb.backup.archive import DUMP
from esweb.embedded.lock import LOCK, try_lock

DRAFT, PREFIX = "archive", ".backup-"
NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""Errors of disks on which files cannot be locked, as on some clusters."""
CONTENTS = {DUMP, DRAFT, LOCK}
"""A folder that holds anything else is not ours, whatever its name."""


@contextmanager
def work_folder(parent: Path, report: Callable[[str], None]) -> Iterator[Path]:
    """Create the folder for the block; first remove those of killed backups in the same place. Raise OSError."""
    for path in sorted(parent.glob(f"{PREFIX}*")):
        if _is_ours(path):
            _remove_abandoned(path, report)
    folder, lock = _make(parent)
    try:
        yield folder
    finally:
        _remove(folder, lock)


def _make(parent: Path) -> tuple[Path, int | None]:
    """Return a new folder and the descriptor of its lock. Another backup may remove it before it is locked.

    The descriptor is None on a disk without locks.
    """
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
        try:
            lock = try_lock(folder / LOCK)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            return folder, None
        if lock is not None:
            return folder, lock


def _is_ours(path: Path) -> bool:
    try:
        is_folder = bool(NAME.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()
        return is_folder and path.stat().st_uid == os.geteuid() and {entry.name for entry in path.iterdir()} <= CONTENTS
    except FileNotFoundError:  # the backup that wrote there has just ended
        return False


def _remove_abandoned(folder: Path, report: Callable[[str], None]) -> None:
    try:
        lock = try_lock(folder / LOCK)
    except FileNotFoundError:
        return
    except OSError as error:
        report(f"{folder} may be of a killed backup ({error.strerror}). Remove it if no backup is running.")
        return
    if lock is None:
        return
    _remove(folder, lock)
    report(f"removed {folder}, which a killed backup left")


def _remove(folder: Path, lock: int | None) -> None:
    """Remove the folder. Its lock goes last, and closed: on NFS a removed file that is open stays in its folder."""
    try:
        for name in CONTENTS - {LOCK}:
            (folder / name).unlink(missing_ok=True)
    finally:
        if lock is not None:
            os.close(lock)
    try:
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTEMPTY}:  # then another backup is removing it
            raise
