"""Judgments in and out: files of them become a tournament, and a tournament's verdicts become files."""

from judging.exchange.exporter import (
    FORMS,
    JSONL,
    CannotWrite,
    ExportOptions,
    check,
    lines,
    name_of,
    send,
    sent,
    setup,
    transcript_lines,
    transcript_of,
    without_scores,
)
from judging.exchange.files import FILE_AT_MOST, FORMATS_READ, MB, UPLOAD_AT_MOST
from judging.exchange.importer import File, FileReport, ImportResult, bring_in
from judging.exchange.target import ImportTarget

__all__ = [
    "FILE_AT_MOST",
    "FORMATS_READ",
    "FORMS",
    "JSONL",
    "MB",
    "UPLOAD_AT_MOST",
    "CannotWrite",
    "ExportOptions",
    "File",
    "FileReport",
    "ImportResult",
    "ImportTarget",
    "bring_in",
    "check",
    "lines",
    "name_of",
    "send",
    "sent",
    "setup",
    "transcript_lines",
    "transcript_of",
    "without_scores",
]
