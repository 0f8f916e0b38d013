"""Back up a site, running or stopped: the database first, then the files that it knows.

Files of records only grow, so each reaches at least as far as the database has read it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from django.conf import settings

from esweb.backup.archive import (
    ADMIN_PASSWORD,
    DUMP,
    SECRET_KEY,
    ArchiveWriter,
    BackupError,
    Manifest,
    new_archive,
    refuse_existing,
)
from esweb.backup.database import dump, running_database
from esweb.backup.files import files_of_code, files_of_runs


def create_backup(archive: Path, tell: Callable[[str], None]) -> None:
    """Write the whole site into a new file; `tell` prints a line. Raise BackupError and leave no file if it fails."""
    refuse_existing(archive)
    if not archive.parent.is_dir():
        raise BackupError(f"There is no folder {archive.parent}: make it first.")
    data = Path(settings.DATA_DIR)
    try:
        with running_database(data), new_archive(archive) as writer:
            _fill(writer, data, archive.parent, tell)
    except OSError as error:
        raise BackupError(
            f"The backup was not made: {error.strerror or error} ({error.filename or archive})."
        ) from error
    tell(f"{archive}: {archive.stat().st_size:,} bytes, {len(writer.members)} files; it holds secrets, so keep it safe")


def _fill(writer: ArchiveWriter, data: Path, beside: Path, tell: Callable[[str], None]) -> None:
    created_at = datetime.now(UTC).isoformat(timespec="microseconds")
    with tempfile.TemporaryDirectory(dir=beside, prefix=".backup-") as folder:
        tell("dumping the database")
        snapshot = dump(Path(folder) / DUMP)
        writer.add_file(DUMP, Path(folder) / DUMP)
    tell(f"copying the files of {len(snapshot.jobs)} runs")
    for name, path in (*files_of_runs(Path(settings.RUNS_DIR), snapshot.jobs), *files_of_code(data / "code")):
        try:
            writer.add_file(name, path)
        except FileNotFoundError:
            tell(f"{name} was removed meanwhile")
    # From the settings: it may come from the environment.
    writer.add_text(SECRET_KEY, settings.SECRET_KEY)
    if (data / ADMIN_PASSWORD).exists():
        writer.add_file(ADMIN_PASSWORD, data / ADMIN_PASSWORD)
    writer.close(Manifest(version("esweb"), created_at, snapshot.migrations))
