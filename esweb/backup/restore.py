"""Restore a backup into an empty site. A failure leaves the site as empty as it was.

A restore that is killed leaves a mark, with which no command starts on the site. The next restore starts from the
beginning.

Jobs that had not ended when the backup was made end as interrupted: their processes are the other site's.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, transaction

from esweb.backup.archive import DUMP, FOLDERS, SECRET_KEY, BackupError, Manifest, extract
from esweb.backup.database import claimed_database, connect, is_bundled, load
from esweb.backup.restored_folder import POSTGRES, UNPACKED, describe, marked, place_files, refuse_files, without_traces
from esweb.backup.weights import describe_left_out
from esweb.bootstrap.prepare import release_database
from esweb.bootstrap.schema_version import sentence, unknown_migrations
from esweb.bootstrap.unfinished_restore import (
    UnfinishedRestore,
    mark_database,
    read_mark,
    restoring,
    unmark_database,
)
from esweb.embedded import CannotStart, Postgres, hold
from esweb.env import secret
from runs import access
from runs.models import Attempt, AttemptEvent, Rebuild, Run
from runs.models.attempt import RESTORED_REASON
from workers.executors.states import State

REASON = RESTORED_REASON
Report = Callable[[str], None]


def restore_backup(archive: Path, report: Report) -> None:
    """Make this empty site the one of the archive; `report` prints a line. Raise BackupError."""
    data = Path(settings.DATA_DIR)
    try:
        new = describe(data, archive)
        with hold(data), without_traces(data, new), restoring():
            earlier = read_mark(data)
            if earlier and earlier.is_whole:
                _finish(archive, data, earlier, report)
            else:
                _restore(archive, data, _next_mark(archive, data, new, earlier), report)
    except CannotStart as error:
        raise BackupError(str(error)) from error
    except OSError as error:
        raise BackupError(f"Nothing was restored: {error.strerror or error} ({error.filename or data}).") from error
    except psycopg.Error as error:
        raise BackupError(f"The database failed: {' '.join(str(error).split())} Start the restore again.") from error


def _next_mark(
    archive: Path, data: Path, new: UnfinishedRestore, earlier: UnfinishedRestore | None
) -> UnfinishedRestore:
    """Return the mark of this restore. Raise BackupError if there is no archive, or the folder has a site."""
    if not archive.is_file():
        raise BackupError(f"The file {archive} does not exist.")
    if not earlier:
        refuse_files(data)
        return replace(new, before=tuple(name for name in new.before if name not in FOLDERS))
    if is_bundled() and POSTGRES in earlier.before:
        raise BackupError(f"{data} already contains a database. Restore into a new folder with --data.")
    return replace(earlier, archive=str(archive))


def _restore(archive: Path, data: Path, new: UnfinishedRestore, report: Report) -> None:
    with (
        nullcontext() if is_bundled() else claimed_database() as external,
        marked(data, new),
        tempfile.TemporaryDirectory(dir=data, prefix=UNPACKED) as folder,
    ):
        if external:
            mark_database(external, archive, data)
        report("unpacking and checking the archive")
        manifest = extract(archive, Path(folder))
        if not manifest.has_checksum:
            report("the archive has no checksum of its manifest: an earlier esweb wrote it")
        _refuse_newer(manifest)
        _refuse_other_key(Path(folder) / SECRET_KEY)
        ended = _put_in_place(Path(folder), data, manifest, report)
    _remove_marks(data, new)
    report(f"restored; {ended} unfinished runs and rebuilds are now interrupted")


def _put_in_place(new: Path, data: Path, manifest: Manifest, report: Report) -> int:
    """Fill database and folder. Return the number of jobs that this ended."""
    with _bundled_database(data) if is_bundled() else nullcontext():
        report(f"restoring the database of esweb {manifest.esweb}, of {manifest.created_at}")
        load(new / DUMP)
        try:
            call_command("migrate", verbosity=0, interactive=False)
            ended = end_open_jobs(datetime.fromisoformat(manifest.created_at))
        except (DatabaseError, CommandError) as error:
            raise BackupError(f"The database of the backup could not be migrated: {error}") from error
        finally:
            release_database()
        report(f"placing {len(manifest.members)} files")
        for sentence_of_lack in describe_left_out(manifest.left_out):
            report(sentence_of_lack)
        place_files(new, data)
    return ended


def end_open_jobs(at: datetime) -> int:
    """End all open attempts and rebuilds as interrupted at that time; return their number. None starts
    automatically."""
    with transaction.atomic():
        attempts = list(Attempt.objects.open().select_related("run"))
        for attempt in attempts:
            attempt.note(REASON, "warning", attempt.state, State.INTERRUPTED)
            access.end_run_tokens(attempt.run, attempt.key)
            if attempt.sets_run_state:
                Run.objects.filter(pk=attempt.run_id).update(state=State.INTERRUPTED.value)
        AttemptEvent.objects.filter(attempt__in=attempts, why=REASON).update(at=at)
        ended = {"state": State.INTERRUPTED.value, "reason": REASON, "ended_at": at}
        Attempt.objects.filter(pk__in=[attempt.pk for attempt in attempts]).update(**ended, hold="")
        Attempt.objects.filter(restart_at__isnull=False).update(restart_at=None)
        Attempt.objects.filter(moves_to__isnull=False).update(moves_to=None, moves_held=False)
        return len(attempts) + Rebuild.objects.open().update(**ended)


@contextmanager
def _bundled_database(data: Path) -> Iterator[None]:
    """Create the bundled PostgreSQL and run it for the block."""
    server = Postgres(data)
    try:
        server.start()
        yield
    finally:
        server.stop()


def _remove_marks(data: Path, new: UnfinishedRestore) -> None:
    """Remove both marks of a site that is whole, the folder's last."""
    try:
        if not is_bundled():
            with connect() as connection:
                unmark_database(connection, data)
        new.remove(data)
    except (BackupError, OSError, psycopg.Error) as error:
        raise BackupError(
            f"The site in {data} is whole, but the mark of its restore could not be removed: "
            f"{' '.join(str(error).split())} Start the restore again, which only removes the mark."
        ) from error


def _finish(archive: Path, data: Path, earlier: UnfinishedRestore, report: Report) -> None:
    """Finish a restore that was killed when the site was whole and only its marks were left."""
    _remove_marks(data, earlier)
    if earlier.archive != str(archive):
        raise BackupError(f"{data} is the restored site of {earlier.archive}. Restore into a new folder with --data.")
    report(f"the site of {archive} was whole already; the mark of its restore is removed")


def _refuse_newer(manifest: Manifest) -> None:
    unknown = unknown_migrations(manifest.migrations)
    if not unknown and _release(manifest.esweb) <= _release(version("esweb")):
        return
    reason = f"this one does not know {sentence(unknown)}" if unknown else f"this one is {version('esweb')}"
    raise BackupError(
        f"A newer esweb ({manifest.esweb}) created this archive: {reason}. Install that version to restore it."
    )


def _release(text: str) -> tuple[int, ...]:
    """Return the numbers of a version, such as (0, 1, 0)."""
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _refuse_other_key(file: Path) -> None:
    """A key of the environment wins over the one in the folder, and would decrypt nothing."""
    env_key = secret("SECRET_KEY")
    if env_key and env_key != file.read_text(encoding="utf-8"):
        raise BackupError("SECRET_KEY differs from the archive's key. Unset it, or set it to the archive's key.")
