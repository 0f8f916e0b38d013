"""Exports that are imported again, by a user who has nothing of the exported run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from django.contrib.auth.models import User

from runs import importing
from runs.exporting import Parts, run_archive, zip_pieces
from runs.importing import ImportResult, ImportTarget
from runs.models import Run


def export_to(folder: Path, run: Run, parts: Parts | None = None) -> Path:
    """Export a run to a zip in a folder, and return its path."""
    path = folder / f"{run.uid}.zip"
    path.write_bytes(b"".join(zip_pieces(run_archive(run, parts or Parts(), run.created_by))))
    return path


def import_zip(path: Path, person: User, name: str = "Imported") -> ImportResult:
    """Import a file as `manage.py import` does."""
    with ExitStack() as stack:
        files = importing.files_from_path(path, stack, importing.Budget())
        return importing.import_runs(files, ImportTarget(person, name))
