"""Uploaded files, from a page or over the API: their names, and the limits on one upload."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from runs.importing.files import MB
from runs.importing.reading_process import read_uploads
from runs.importing.run_import import ImportResult, import_sources
from runs.importing.sources import MAX_DOCUMENT_BYTES
from runs.importing.store import ImportTarget

MAX_UPLOAD_BYTES = 256 * MB
MAX_UPLOADS = 100
"""Maximum number of files in one request, which is also Django's limit."""


def upload_limits() -> dict[str, int]:
    """Return the limits of an import for pages: `uploads_at_most` is a number of files, all others are bytes."""
    return {
        "upload_at_most": MAX_UPLOAD_BYTES,
        "uploads_at_most": MAX_UPLOADS,
        "archive_at_most": settings.IMPORT_INFLATED_MB * MB,
        "document_at_most": MAX_DOCUMENT_BYTES,
    }


def upload_problem(uploads: Sequence[UploadedFile[Any]]) -> str:
    """Return why these uploads are refused; an empty text if they are not."""
    if not uploads:
        return "Select at least one file."
    total = sum(upload.size or 0 for upload in uploads)
    if total > MAX_UPLOAD_BYTES:
        return (
            f"The files have {total} bytes; an upload may have at most {MAX_UPLOAD_BYTES}. Pack them or select fewer."
        )
    return ""


def import_uploads(uploads: Sequence[UploadedFile[Any]], paths: Sequence[str], target: ImportTarget) -> ImportResult:
    """Read the uploads in a process of their own, and save their runs.

    paths: their names with folders, in the same order; else bare names.
    """
    names = paths if len(paths) == len(uploads) else [upload.name or "" for upload in uploads]
    with ExitStack() as stack:
        read = read_uploads(uploads, names, target.person.pk, target.known_sizes(), stack)
        return import_sources(*read, target)
