"""The mark of a restore: it lies in the data folder from before the first change until the site is whole.

A database outside the folder carries a mark of its own, a table, so that it is refused with any other folder too.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg

from esweb.embedded import CannotStart
from esweb.embedded.child_process import raising_cannot_start
from workers.attempt import sync_directory, write_whole

MARK, TABLE = "unfinished-restore.json", "esweb_unfinished_restore"
_is_restoring = ContextVar("is_restoring", default=False)


@dataclass(frozen=True)
class UnfinishedRestore:
    """A restore that has begun: its archive, and what was in the folder before."""

    archive: str
    before: tuple[str, ...]
    is_new_folder: bool
    is_whole: bool = False
    """True once everything is in place and on disk: then only the marks are left to remove."""

    def write(self, data: Path) -> None:
        """Store the mark on disk, readable by its owner alone. Raise OSError."""
        write_whole(data / MARK, json.dumps(asdict(self)), sync=True, mode=0o600)

    def remove(self, data: Path) -> None:
        """Remove the mark, on disk. Raise OSError."""
        (data / MARK).unlink(missing_ok=True)
        sync_directory(data)


def read_mark(data: Path) -> UnfinishedRestore | None:
    """Return the folder's mark, or None. Raise CannotStart if it cannot be read."""
    file = data / MARK
    with raising_cannot_start(data):
        if not file.exists():
            return None
        text = file.read_bytes()
    try:
        values: dict[str, Any] = json.loads(text)
        return UnfinishedRestore(**values | {"before": tuple(values["before"])})
    except (ValueError, KeyError, TypeError) as error:
        raise CannotStart(
            f"A restore into {data} has not finished, and its mark {file} cannot be read. "
            "Restore into a new folder with --data."
        ) from error


@contextmanager
def restoring() -> Iterator[None]:
    """Let the block use the site that it restores."""
    token = _is_restoring.set(True)
    try:
        yield
    finally:
        _is_restoring.reset(token)


def refuse_unfinished_restore(data: Path) -> None:
    """Raise CannotStart, with the command that repairs it, if a restore into this folder has not finished."""
    if not _is_restoring.get() and (mark := read_mark(data)):
        raise CannotStart(
            f"The restore of {mark.archive} into {data} has not finished, so the site there is incomplete. "
            f"Run `{_command(mark.archive, str(data))}`, which starts it from the beginning."
        )


def refuse_marked_database(connection: psycopg.Connection[Any]) -> None:
    """Raise CannotStart, with the command that repairs it, if a restore into this database has not finished."""
    if _is_restoring.get() or not has_table(connection, TABLE):
        return
    rows = connection.execute("SELECT archive, folder FROM esweb_unfinished_restore").fetchall()
    archive, folder = rows[0] if rows else ("FILE", "DIR")
    raise CannotStart(
        f"The restore of {archive} into this database has not finished, so the site there is incomplete. "
        f"Run `{_command(archive, folder)}` with the same DATABASE_URL, which starts it from the beginning."
    )


def mark_database(connection: psycopg.Connection[Any], archive: Path, data: Path) -> None:
    """Mark the database as being restored from this archive, with this folder."""
    with connection.transaction():
        connection.execute("CREATE TABLE esweb_unfinished_restore (archive text NOT NULL, folder text NOT NULL)")
        connection.execute("INSERT INTO esweb_unfinished_restore VALUES (%s, %s)", [str(archive), str(data)])


def unmark_database(connection: psycopg.Connection[Any], data: Path) -> None:
    """Remove the mark of a restore with this folder, if there is one."""
    if has_table(connection, TABLE):
        folders = connection.execute("SELECT folder FROM esweb_unfinished_restore").fetchall()
        if folders == [(str(data),)]:
            connection.execute("DROP TABLE esweb_unfinished_restore")


def _command(archive: str, folder: str) -> str:
    return f"./manage.py restore {shlex.quote(archive)} --data {shlex.quote(folder)}"


def has_table(connection: psycopg.Connection[Any], name: str) -> bool:
    """Return whether the database has a table of that name on our search path."""
    return connection.execute("SELECT to_regclass(%s)", [name]).fetchone() != (None,)
