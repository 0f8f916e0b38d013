"""Tell the kind of a file by its content, and read its records. Event files of one folder make one source."""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runs.importing import broken_json
from runs.importing.files import MB, File, Refused, natural, window
from runs.importing.readers import (
    countdown_results,
    evaluations,
    event_files,
    final_results,
    npy,
    reports,
    scored_responses,
    tables,
    tfrecord,
    trainer_state,
)
from runs.importing.readers.event_files import first_time
from runs.importing.readers.log import Log
from runs.importing.readers.reports import Seeds
from runs.importing.readers.scored_responses import is_points, is_summary, tag_of
from runs.importing.readers.tables import is_table
from runs.importing.records import Entry, ImportReport
from runs.importing.text import BOM

HEAD = 4096
PIECE = 256 * 1024
DOCUMENT_AT_MOST = 64 * MB
"""A JSON document is held whole while it is read."""
LINE_AT_MOST = MB
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HOLES = re.compile(rb"\x00{64,}")
"""A log that was rotated while it was written begins with zeros, and a crash leaves blocks of them."""
TEXT = "text"
KINDS = (
    "ES and TRL logs, logs of jobs that failed, JSON of evaluations, reports and trainer states, TensorBoard events, "
    "rewards and costs of answers, CSV and JSON lines with a step"
)
NOTHING_READ = f"Nothing was read. Read are: {KINDS}."
ORDER = (
    TEXT, tables.KIND, event_files.KIND, trainer_state.KIND, evaluations.KIND, final_results.KIND,
    countdown_results.KIND, scored_responses.KIND, reports.KIND,
)  # fmt: skip
"""Reports come last: they are checked against evaluations."""
DOCUMENTS = {
    evaluations.KIND: evaluations.is_one,
    reports.KIND: reports.is_one,
    trainer_state.KIND: trainer_state.is_one,
    final_results.KIND: final_results.is_one,
    countdown_results.KIND: countdown_results.is_one,
    scored_responses.KIND: is_summary,
}
TOGETHER = (event_files.KIND, scored_responses.KIND)
"""Kinds of which several files make one source."""


@dataclass(frozen=True)
class Source:
    """A source is imported as one: a file, the event files of one folder, or the files of one model's answers."""

    kind: str
    files: tuple[File, ...]

    @property
    def name(self) -> str:
        if len(self.files) == 1:
            return self.files[0].name
        tag = tag_of(self.files[0])[0] if self.kind == scored_responses.KIND else ""
        return f"{self.files[0].folder}/{tag} ({len(self.files)} files)"

    @property
    def modified_at(self) -> float | None:
        return self.files[-1].modified_at

    def identity(self) -> Iterator[bytes]:
        """The bytes that make it what it is. A source that went on begins with what it was."""
        if self.kind == trainer_state.KIND:
            document = _document(self.files[0])
            yield trainer_state.identity(document.value) if document else b""
            return
        for file in self.files:
            with file.open() as opened:
                while piece := opened.read(PIECE):
                    yield piece

    def entries(self, told: ImportReport, seeds_of: Seeds) -> Iterator[Entry]:
        """Yield the records, run by run."""
        told.is_cut = any(file.is_cut for file in self.files)
        is_damaged = any(file.is_damaged for file in self.files)
        for entry in self._entries(told, seeds_of):
            if is_damaged:
                entry.found.doubt()
            yield entry

    def _entries(self, told: ImportReport, seeds_of: Seeds) -> Iterator[Entry]:
        file = self.files[0]
        if self.kind == TEXT:
            with file.open() as opened:
                yield from Log(opened, file.named, told).entries()
        elif self.kind == tables.KIND:
            with file.open() as opened:
                yield from tables.entries(opened, file.named, told)
        elif self.kind == event_files.KIND:
            yield from event_files.entries([one.open for one in self.files], file.named, told)
        elif self.kind == scored_responses.KIND:
            yield from scored_responses.entries(self.files, told)
        elif (document := _document(file)) is not None:
            if document.why:
                told.at_line(document.line, document.why)
            told.is_cut = bool(document.why) and not document.goes_on
            yield from _of_document(self.kind, document.value, file.named, told, seeds_of)


def digests(source: Source, at: Iterable[int]) -> tuple[int, str, dict[int, str]]:
    """(bytes, SHA-256 of all, SHA-256 of the first n bytes for each n of `at` that it has)."""
    wanted = sorted(set(at))
    digest, size, found = hashlib.sha256(), 0, dict[int, str]()
    for piece in source.identity():
        rest = memoryview(piece)
        while wanted and wanted[0] <= size + len(rest):
            upto = wanted.pop(0) - size
            digest.update(rest[:upto])
            size, rest = size + upto, rest[upto:]
            found[size] = digest.hexdigest()
        digest.update(rest)
        size += len(rest)
    return size, digest.hexdigest(), found


def recognised(files: Iterable[File | Refused]) -> tuple[list[Source], list[Refused]]:
    """Sources, in the order in which they are to be read, and what is none."""
    sources, refused, together = list[Source](), list[Refused](), dict[tuple[str, str, str], list[File]]()
    for file in files:
        if isinstance(file, Refused):
            refused.append(file)
            continue
        try:
            kind, why = _kind(file)
        except OSError as error:
            kind, why = "", f"cannot be read: {error.strerror}"
        if why:
            refused.append(Refused(file.name, why))
        elif kind in TOGETHER:
            tag = (tag_of(file)[0] or file.name) if kind == scored_responses.KIND else ""
            together.setdefault((kind, file.folder, tag), []).append(file)
        else:
            sources.append(Source(kind, (file,)))
    sources += [Source(kind, tuple(_in_order(kind, group))) for (kind, _, _), group in together.items()]
    return sorted(sources, key=lambda one: (ORDER.index(one.kind), natural(one.name))), refused


def _kind(file: File) -> tuple[str, str]:
    """(its kind, why it is not read)."""
    if not file.size:
        return "", "is empty"
    head = file.head(HEAD)
    kind, why = _kind_by_head(file, head)
    if kind or why:
        return kind, why
    if is_points(_first_line(file, head)):
        return scored_responses.KIND, ""
    if _is_table(file):
        return tables.KIND, ""
    start = head.removeprefix(BOM).split()
    looks_json = bool(start) and (start[0][:2] in (b'{"', b"[{", b"[]", b"{}") or start[0] in (b"{", b"["))
    return _kind_of_document(file) if looks_json else (TEXT, "")


def _kind_by_head(file: File, head: bytes) -> tuple[str, str]:
    """Return (kind, why it is not read) of what is no text; twice nothing for a text, whose kind needs more of it."""
    if tfrecord.is_one(head):
        return event_files.KIND, ""
    if npy.is_one(head):
        is_named = tag_of(file)[1] in ("Rs", "Cs", "labels")
        why = "is a NumPy array whose name ends in none of _Rs.npy, _Cs.npy and _labels.npy, which say what is in it"
        return (scored_responses.KIND, "") if is_named else ("", why)
    if b"\x00" in HOLES.sub(b"", head):
        return "", f"is binary, and of no kind that is read here ({KINDS})"
    return "", ""


def unread_by_head(name: str, head: bytes) -> str:
    """Return why no reader reads a file that begins with this MiB, before more of it is unpacked; empty if one may."""
    if head.startswith(WIDE):
        return ""
    kind, why = _kind_by_head(File(name, name, len(head), window(io.BytesIO(head), 0, len(head))), head[:HEAD])
    text = HOLES.sub(b"", head).removeprefix(BOM).lstrip()
    is_one_line = len(text) >= LINE_AT_MOST and b"\n" not in text and b"\r" not in text
    if not kind and not why and is_one_line and text[:1] not in (b"{", b"["):
        return f"has no end of a line in its first {LINE_AT_MOST} bytes, so it is of no kind that is read here"
    return why


def _first_line(file: File, head: bytes) -> bytes:
    """The first line that is not blank; one of JSON in full, for an answer may be longer than a head."""
    line = head.removeprefix(BOM).lstrip()
    if b"\n" in line or not line.startswith(b"{"):
        return line.partition(b"\n")[0]
    with file.open() as opened:
        opened.seek(len(head) - len(line))
        return opened.readline(MB)


def _is_table(file: File) -> bool:
    head = file.head(PIECE)
    parts = head.removeprefix(BOM).lstrip().split(b"\n")
    whole = [line for line in (parts if len(head) == file.size else parts[:-1]) if line.strip()]
    return bool(whole) and is_table(whole[0], whole[1] if len(whole) > 1 else b"")


def _kind_of_document(file: File) -> tuple[str, str]:
    if file.size > DOCUMENT_AT_MOST:
        return "", f"is a JSON document of {file.size} bytes; at most {DOCUMENT_AT_MOST} are read"
    document = _document(file)
    if document is None:
        return TEXT, ""
    kind = next((kind for kind, is_one in DOCUMENTS.items() if is_one(document.value)), "")
    if document.goes_on and not kind:
        return TEXT, ""
    return kind, "" if kind else "is JSON, and none of an evaluation, a report, a summary or a trainer's state"


def _document(file: File) -> broken_json.Document | None:
    with file.open() as opened:
        text = opened.read(DOCUMENT_AT_MOST + 1).decode("utf-8-sig", errors="replace")
    return broken_json.read(text)


def _of_document(kind: str, value: Any, name: str, told: ImportReport, seeds_of: Seeds) -> Iterator[Entry]:
    if kind == evaluations.KIND:
        return evaluations.entries(value, name, told)
    if kind == reports.KIND:
        return reports.entries(value, name, told, seeds_of)
    if kind == final_results.KIND:
        return final_results.entries(value, name, told)
    if kind == countdown_results.KIND:
        return countdown_results.entries(value, name, told)
    return trainer_state.entries(value, name, told)


def _in_order(kind: str, files: Sequence[File]) -> list[File]:
    if kind == scored_responses.KIND:
        return sorted(files, key=lambda file: file.name)
    return sorted(files, key=lambda file: (first_time(file.open), natural(file.name)))
