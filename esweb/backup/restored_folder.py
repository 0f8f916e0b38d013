"""The data folder during a restore: marked from before the first change until the site is whole and on disk.

After a failure it is as empty as it was. After a kill it keeps the mark, with which the next restore starts from the
beginning.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from esweb.backup.archive import ADMIN_PASSWORD, FOLDERS, SECRET_KEY, BackupError
from esweb.backup.database import is_bundled
from esweb.bootstrap import secret_key
from esweb.bootstrap.unfinished_restore import MARK, UnfinishedRestore
from esweb.embedded.child_process import LIBC, end_orphan
from esweb.embedded.lock import LOCK
from workers.attempt import sync_directory

POSTGRES, UNPACKED = "postgres", ".restore-"
CREATED = (*FOLDERS, SECRET_KEY, ADMIN_PASSWORD, POSTGRES, "postgres.new", "sockets", "logs")
"""A restore may create these in the folder, and folders that begin with UNPACKED."""


def describe(data: Path, archive: Path) -> UnfinishedRestore:
    """Return what the mark of a restore into this folder says, before the folder is locked.

    The key that this process created when it read its settings was not there before.
    """
    is_new = not data.exists() or data in secret_key.created
    before = {path.name for path in data.iterdir() if path not in secret_key.created} if data.exists() else set()
    return UnfinishedRestore(str(archive), tuple(sorted(before)), is_new)


@contextmanager
def marked(data: Path, mark: UnfinishedRestore) -> Iterator[None]:
    """Mark the folder for the block, in which the site becomes whole. Empty the folder again if the block fails."""
    mark.write(data)
    try:
        remove_restored(data, mark)
        yield
        replace(mark, is_whole=True).write(data)
    except BaseException:
        try:
            remove_restored(data, mark)
            mark.remove(data)
        except OSError as error:
            raise BackupError(
                f"{data} could not be emptied again: {error.strerror} ({error.filename or data}). "
                "Start the restore again."
            ) from error
        remove_traces(data, mark)
        raise


@contextmanager
def without_traces(data: Path, mark: UnfinishedRestore) -> Iterator[None]:
    """Leave nothing of ours in the folder if the block fails before it has marked it."""
    try:
        yield
    except BaseException:
        if not (data / MARK).exists():
            remove_traces(data, mark)
        raise


def remove_traces(data: Path, mark: UnfinishedRestore) -> None:
    """Remove the lock, which we hold, the key of our settings and the folder itself, unless they were there before."""
    for name in (LOCK, SECRET_KEY):
        path = data / name
        if name not in mark.before and (name == LOCK or path in secret_key.created):
            path.unlink(missing_ok=True)
    if mark.is_new_folder:
        with suppress(OSError):  # another process may have begun to use it
            data.rmdir()


def remove_restored(data: Path, mark: UnfinishedRestore) -> None:
    """Remove what a restore has created here. The bundled PostgreSQL of a killed one may still be stopping."""
    if POSTGRES not in mark.before:
        folder = data / POSTGRES
        end_orphan(folder / "postmaster.pid", folder, signal.SIGINT, signal.SIGQUIT)
    names = [name for name in CREATED if name not in mark.before]
    drafts = [*data.glob(f"{UNPACKED}*"), *data.glob(f".{MARK}.*")]
    for path in (*drafts, *(data / name for name in names)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def refuse_files(data: Path) -> None:
    """Raise BackupError if the folder has a site's files or database."""
    for folder in FOLDERS:
        if (data / folder).is_dir() and any((data / folder).iterdir()):
            raise BackupError(f"{data / folder} is not empty. Restore into a new folder with --data.")
    if is_bundled() and (data / POSTGRES).exists():
        raise BackupError(f"{data} already contains a database. Restore into a new folder with --data.")


def place_files(new: Path, data: Path) -> None:
    """Rename everything into place, and wait until all of it is on disk."""
    for folder in FOLDERS:
        if (new / folder).is_dir():
            (new / folder).rename(data / folder)  # in place of an empty folder, if there is one
    for name in (ADMIN_PASSWORD, SECRET_KEY):
        if (new / name).exists():
            (new / name).chmod(0o600)
            (new / name).replace(data / name)
    sync_directory(data)
    _sync_filesystem(data)


def _sync_filesystem(folder: Path) -> None:
    """Wait until everything that was written on this folder's disk is there: one call, for any number of files."""
    if LIBC is None:
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if LIBC.syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    finally:
        os.close(descriptor)
