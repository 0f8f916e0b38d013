"""A source: the files that are imported as one, what identifies them, and the records that their reader yields."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from runs.importing import partial_json, refusals
from runs.importing.files import MB, File
from runs.importing.readers import (
    countdown_results,
    evaluations,
    event_files,
    final_results,
    reports,
    scored_responses,
    tables,
    trainer_log,
    trainer_state,
)
from runs.importing.readers.log import Log
from runs.importing.readers.scored_responses import tag_of
from runs.importing.records import Entry, ImportReport, Refusal
from runs.importing.source_kinds import KINDS, READ_KINDS, TEXT

PIECE = 256 * 1024
MAX_DOCUMENT_BYTES = 64 * MB
"""Maximum size of a JSON document, which is in memory as a whole while it is read."""


@dataclass(frozen=True)
class Source:
    """A source is imported as one: a file, the event files of one folder, or the files of one model's answers."""

    kind: str
    files: tuple[File, ...]
    writer: str = ""
    """Program that wrote these event files, if others wrote into their folder at the same time."""

    @property
    def name(self) -> str:
        if len(self.files) == 1:
            return self.files[0].name
        tag = tag_of(self.files[0])[0] if self.kind == scored_responses.KIND else self.writer
        return f"{self.files[0].folder}/{tag} ({len(self.files)} files)"

    @property
    def modified_at(self) -> float | None:
        return self.files[-1].modified_at

    @property
    def holds_runs(self) -> bool:
        """Return whether it may have entries: that is known once it was read."""
        return True

    def digests(self, sizes: Iterable[int]) -> tuple[int, str, dict[int, str]]:
        """Return (number of bytes, SHA-256 of all, n -> SHA-256 of the first n bytes for each n of `sizes` below)."""
        remaining_sizes = sorted(set(sizes), reverse=True)
        digest, size, sums = hashlib.sha256(), 0, dict[int, str]()
        for piece in self._identity():
            rest = memoryview(piece)
            while remaining_sizes and remaining_sizes[-1] <= size + len(rest):
                upto = remaining_sizes.pop() - size
                digest.update(rest[:upto])
                size, rest = size + upto, rest[upto:]
                sums[size] = digest.hexdigest()
            digest.update(rest)
            size += len(rest)
        return size, digest.hexdigest(), sums

    def _identity(self) -> Iterator[bytes]:
        """Yield the bytes that identify the source. A source that has grown begins with its earlier bytes."""
        if self.kind == trainer_state.KIND:
            document = read_document(self.files[0])
            yield trainer_state.identity(document.value) if document else b""
            return
        for file in self.files:
            with file.open() as opened:
                while piece := opened.read(PIECE):
                    yield piece

    def entries(self, report: ImportReport) -> Iterator[Entry]:
        """Yield the records, run by run."""
        report.is_cut = any(file.is_cut for file in self.files)
        is_damaged, is_empty = any(file.is_damaged for file in self.files), True
        for entry in self._entries(report):
            if is_damaged:
                entry.run.mark_damaged()
            yield entry
            is_empty = False
        if is_empty and not report.is_understood:
            report.refusal = self._refusal()

    def _refusal(self) -> Refusal:
        """Return why a source without entries is not read."""
        if self.kind in (TEXT, tables.KIND):
            return refusals.explain_text(self.files[0].head(refusals.HEAD), READ_KINDS, KINDS)
        return Refusal(f"looks like a file of the kind {self.kind}, and contains nothing that is read")

    def _entries(self, report: ImportReport) -> Iterator[Entry]:
        file = self.files[0]
        if self.kind == TEXT:
            with file.open() as opened:
                yield from Log(opened, file.path, report).entries()
        elif self.kind == tables.KIND:
            with file.open() as opened:
                yield from tables.entries(opened, file.path, report)
        elif self.kind == trainer_log.KIND:
            with file.open() as opened:
                yield from trainer_log.entries(opened, file.path, report)
        elif self.kind == event_files.KIND:
            if self.writer:
                report.facts.append("several programs wrote into its folder at the same time: each is a run of its own")
            yield from event_files.entries([event_file.open for event_file in self.files], file.path, report)
        elif self.kind == scored_responses.KIND:
            yield from scored_responses.entries(self.files, report)
        elif (document := read_document(file)) is not None:
            if document.reason:
                report.add_line_remark(document.line, document.reason)
            report.is_cut = bool(document.reason) and not document.has_more
            yield from _document_entries(self.kind, document.value, file.path, report)


def read_document(file: File) -> partial_json.Document | None:
    with file.open() as opened:
        text = opened.read(min(file.size, MAX_DOCUMENT_BYTES) + 1).decode("utf-8-sig", errors="replace")
    return partial_json.parse(text)


def _document_entries(kind: str, value: Any, name: str, report: ImportReport) -> Iterator[Entry]:
    if kind == evaluations.KIND:
        return evaluations.entries(value, name, report)
    if kind == reports.KIND:
        return reports.entries(value, name, report)
    if kind == final_results.KIND:
        return final_results.entries(value, name, report)
    if kind == countdown_results.KIND:
        return countdown_results.entries(value, name, report)
    return trainer_state.entries(value, name, report)
