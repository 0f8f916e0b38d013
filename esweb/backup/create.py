"""Back up a site, running or stopped: the database first, then the files that it knows.

Files of records only grow, so each reaches at least as far as the database has read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from esweb.backup.weights import Weights, describe_left_out, left_out
from esweb.backup.work_folder import DRAFT, work_folder
from esweb.bootstrap.prepare import password_file
from esweb.bootstrap.unfinished_restore import refuse_unfinished_restore
from esweb.embedded import CannotStart
from workers.attempt import NODE_CONTACT, TOKEN_FILES
from workers.code.bundle import SUFFIX

PROCESS_FILES = ("heartbeat.json", "claim", NODE_CONTACT)
"""These are left out: on another site the process of that number is another one. `claim` covers `claim.N` too."""


def create_backup(archive: Path, report: Callable[[str], None], weights: Weights = "needed") -> None:
    """Write the site into a new file, with the checkpoints that `weights` names; `report` prints a line.

    Raise BackupError and leave no file if it fails.
    """
    refuse_existing(archive)
    if not archive.parent.is_dir():
        raise BackupError(f"The folder {archive.parent} does not exist. Create it first.")
    data = Path(settings.DATA_DIR)
    try:
        refuse_unfinished_restore(data)
        with (
            running_database(data),
            work_folder(archive.parent, report) as folder,
            new_archive(archive, folder / DRAFT) as writer,
        ):
            _fill(writer, data, folder, weights, report)
    except CannotStart as error:
        raise BackupError(str(error)) from error
    except OSError as error:
        raise BackupError(f"The backup failed: {error.strerror or error} ({error.filename or archive}).") from error
    report(
        f"{archive}: {archive.stat().st_size:,} bytes, {len(writer.members)} files. "
        "It contains secrets, so store it safely."
    )


def _fill(writer: ArchiveWriter, data: Path, folder: Path, weights: Weights, report: Callable[[str], None]) -> None:
    created_at = datetime.now(UTC).isoformat(timespec="microseconds")
    report("dumping the database")
    snapshot = dump(folder / DUMP)
    writer.add_file(DUMP, folder / DUMP)
    (folder / DUMP).unlink()
    runs = Path(settings.RUNS_DIR)
    lacking = [*left_out(runs, snapshot.jobs, snapshot.imported, weights)]
    report(f"copying the files of {len(snapshot.jobs)} runs")
    omitted = {runs / folder.name.removeprefix("runs/") for folder in lacking}
    for name, path in (*_files_of_runs(runs, snapshot.jobs, omitted), *_files_of_code(data / "code")):
        try:
            writer.add_file(name, path)
        except FileNotFoundError:
            report(f"{name} was removed during the backup")
    # Taken from the settings: it may come from the environment.
    writer.add_text(SECRET_KEY, settings.SECRET_KEY)
    if password_file().exists():
        writer.add_file(ADMIN_PASSWORD, password_file())
    writer.close(Manifest(version("esweb"), created_at, snapshot.migrations, left_out=lacking))
    for sentence in describe_left_out(lacking):
        report(sentence)


def _files_of_runs(
    runs: Path, jobs: Mapping[str, Sequence[str]], omitted: Collection[Path]
) -> Iterator[tuple[str, Path]]:
    """Yield the archive's name and the path of each file of these jobs, by the uid of their run, but of no folder that
    is omitted."""
    for uid, keys in sorted(jobs.items()):
        for key in sorted(keys):
            for path in _walk(runs / uid / key, omitted):
                yield f"runs/{path.relative_to(runs).as_posix()}", path


def _files_of_code(code: Path) -> Iterator[tuple[str, Path]]:
    """Yield the bundles of code that attempts ran; what is unpacked from them is made again."""
    for path in sorted(code.glob(f"*{SUFFIX}")):
        if not path.name.startswith(".") and path.is_file():
            yield f"code/{path.name}", path


def _walk(folder: Path, omitted: Collection[Path]) -> Iterator[Path]:
    """Yield plain files, without omitted folders, drafts (`.name`), tokens, and what names a process."""
    for root, folders, names in os.walk(folder):
        belonging = (name for name in folders if _belongs_in_backup(name))
        folders[:] = sorted(name for name in belonging if Path(root) / name not in omitted)
        for name in sorted(names):
            path = Path(root) / name
            if _belongs_in_backup(name) and path.is_file() and not path.is_symlink():
                yield path


def _belongs_in_backup(name: str) -> bool:
    is_draft = name.startswith(".")
    names_process = name in PROCESS_FILES or name.startswith("claim.") or name.endswith("-readers")
    return not (is_draft or name in TOKEN_FILES or names_process)
