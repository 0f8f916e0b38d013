"""Restore a backup into an empty site. A failure leaves the site as empty as it was.

Jobs that had not ended when the backup was made end as interrupted: their processes are the other site's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, transaction

from esweb.backup.archive import (
    ADMIN_PASSWORD,
    DUMP,
    FOLDERS,
    SECRET_KEY,
    BackupError,
    Manifest,
    extract,
)
from esweb.backup.database import clear, connect, is_bundled, is_empty, load
from esweb.bootstrap.prepare import release_database
from esweb.bootstrap.schema_version import sentence, unknown_migrations
from esweb.embedded import CannotStart, Postgres, hold
from esweb.env import secret
from runs import access
from runs.models import Attempt, AttemptEvent, Rebuild, Run
from workers.attempt import sync_directory
from workers.executors.states import State

REASON = "the site was restored from a backup taken before this finished"


def restore_backup(archive: Path, report: Callable[[str], None]) -> None:
    """Make this empty site the one of the archive; `report` prints a line. Raise BackupError."""
    if not archive.is_file():
        raise BackupError(f"The file {archive} does not exist.")
    data = Path(settings.DATA_DIR)
    try:
        with hold(data):
            _refuse_files(data)
            with tempfile.TemporaryDirectory(dir=data, prefix=".restore-") as folder:
                report("unpacking and checking the archive")
                manifest = extract(archive, Path(folder))
                _refuse_newer(manifest)
                _refuse_other_key(Path(folder) / SECRET_KEY)
                _put_in_place(Path(folder), data, manifest, report)
    except CannotStart as error:
        raise BackupError(str(error)) from error
    except OSError as error:
        raise BackupError(f"Nothing was restored: {error.strerror or error} ({error.filename or data}).") from error


def _put_in_place(new: Path, data: Path, manifest: Manifest, report: Callable[[str], None]) -> None:
    with _empty_database(data):
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
        _place_files(new, data)
    report(f"restored; {ended} unfinished runs and rebuilds are now interrupted")


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
def _empty_database(data: Path) -> Iterator[None]:
    """Run the block on an empty database, and empty it again if the block fails. Raise BackupError if it is not."""
    server, is_new = Postgres(data) if is_bundled() else None, not (data / "postgres").exists()
    try:
        if server:
            server.start()
        with connect() as connection:
            if not is_empty(connection):
                raise BackupError(
                    "The database already contains tables. Restore into a new folder with --data, "
                    "or into an empty database."
                )
            try:
                yield
            except BaseException:
                clear(connection)
                raise
    except BaseException:
        if server:
            server.stop()
            if is_new:
                for name in ("postgres", "sockets", "logs"):
                    shutil.rmtree(data / name, ignore_errors=True)
        raise
    if server:
        server.stop()


def _refuse_files(data: Path) -> None:
    for folder in FOLDERS:
        if (data / folder).is_dir() and any((data / folder).iterdir()):
            raise BackupError(f"{data / folder} is not empty. Restore into a new folder with --data.")


def _refuse_newer(manifest: Manifest) -> None:
    if unknown := unknown_migrations(manifest.migrations):
        raise BackupError(
            f"A newer esweb ({manifest.esweb}) created this archive: this one does not know {sentence(unknown)}. "
            "Install that version to restore it."
        )


def _refuse_other_key(file: Path) -> None:
    """A key of the environment wins over the one in the folder, and would decrypt nothing."""
    env_key = secret("SECRET_KEY")
    if env_key and env_key != file.read_text(encoding="utf-8"):
        raise BackupError("SECRET_KEY differs from the archive's key. Unset it, or set it to the archive's key.")


def _place_files(new: Path, data: Path) -> None:
    """Rename everything into place. What was placed is taken away again if the rest fails."""
    placed: list[Path] = []
    try:
        for folder in FOLDERS:
            if (new / folder).is_dir():
                if (data / folder).exists():
                    (data / folder).rmdir()
                (new / folder).rename(data / folder)
                placed.append(data / folder)
    except OSError:
        for path in placed:
            shutil.rmtree(path)
        raise
    for name in (ADMIN_PASSWORD, SECRET_KEY):
        if (new / name).exists():
            (new / name).chmod(0o600)
            (new / name).replace(data / name)
    sync_directory(data)
