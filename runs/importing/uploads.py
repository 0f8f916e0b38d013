"""Uploaded files, from a page or over the API: what they are called, and how much is taken at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from runs.importing.budget import Budget
from runs.importing.detect_format import DOCUMENT_AT_MOST
from runs.importing.files import MB, File, Refused
from runs.importing.scan import of_upload

UPLOAD_AT_MOST = 256 * MB
UPLOADS_AT_MOST = 100
"""Django takes no more files in one request."""


def limits() -> dict[str, int]:
    """Return what an import may have, for pages; in bytes, but for the number of files."""
    return {
        "upload_at_most": UPLOAD_AT_MOST,
        "uploads_at_most": UPLOADS_AT_MOST,
        "archive_at_most": settings.IMPORT_INFLATED_MB * MB,
        "document_at_most": DOCUMENT_AT_MOST,
    }


def too_much(uploads: Sequence[UploadedFile[Any]]) -> str:
    """Why these are not taken; empty where they are."""
    if not uploads:
        return "Choose at least one file."
    total = sum(upload.size or 0 for upload in uploads)
    if total > UPLOAD_AT_MOST:
        return f"These are {total} bytes; at most {UPLOAD_AT_MOST} are taken at once. Pack them, or take fewer."
    return ""


def of_uploads(uploads: Sequence[UploadedFile[Any]], paths: Sequence[str], keep: ExitStack) -> Iterator[File | Refused]:
    """The files of the uploads. `paths`: their names with folders, in the same order; else each has its bare name."""
    names = paths if len(paths) == len(uploads) else [upload.name or "" for upload in uploads]
    budget = Budget()
    for upload, name in zip(uploads, names, strict=True):
        yield from of_upload(upload, upload.size or 0, name, keep, budget)
