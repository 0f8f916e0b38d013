"""Detect the kind of a file by its content, and read its records. Event files of one folder make one source."""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runs.importing import partial_json
from runs.importing.files import MB, File, RefusedFile, natural_key, window
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
from runs.importing.readers.scored_responses import is_points, is_summary, tag_of
from runs.importing.readers.tables import is_table
from runs.importing.records import Entry, ImportReport
from runs.importing.run_folders.assemble import RunFolder, find_run_folders
from runs.importing.text import BOM
from runs.models import RUN_FOLDER

HEAD = 4096
PIECE = 256 * 1024
MAX_DOCUMENT_BYTES = 64 * MB
"""Maximum size of a JSON document, which is in memory as a whole while it is read."""
MAX_LINE_BYTES = MB
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ZERO_BLOCKS = re.compile(rb"\x00{64,}")
"""Match blocks of zeros. A log that was rotated while it was written begins with them, and a crash leaves some."""
TEXT = "text"
NO_MEMORY = "reading it needs more memory than an import may have (ESWEB_IMPORT_MEMORY_MB)"
KINDS = (
    "ES and TRL logs, logs of jobs that failed, JSON of evaluations, reports and trainer states, "
    "TensorBoard events, rewards and costs of responses, CSV and JSON lines with a step, run folders of esweb"
)
NOTHING_READ = f"Nothing was read. Supported are: {KINDS}."
ORDER = (
    RUN_FOLDER, TEXT, tables.KIND, event_files.KIND, trainer_state.KIND, evaluations.KIND, final_results.KIND,
    countdown_results.KIND, scored_responses.KIND, reports.KIND,
)  # fmt: skip
"""Order in which sources are read. Reports come last, because they are checked against evaluations."""
DOCUMENT_CHECKS = {
    evaluations.KIND: evaluations.is_evaluation,
    reports.KIND: reports.is_report,
    trainer_state.KIND: trainer_state.is_trainer_state,
    final_results.KIND: final_results.is_final_evaluation,
    countdown_results.KIND: countdown_results.is_countdown_evaluation,
    scored_responses.KIND: is_summary,
}
MULTI_FILE_KINDS = (event_files.KIND, scored_responses.KIND)
"""Kinds with several files in one source."""


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
            document = _document(self.files[0])
            yield trainer_state.identity(document.value) if document else b""
            return
        for file in self.files:
            with file.open() as opened:
                while piece := opened.read(PIECE):
                    yield piece

    def entries(self, report: ImportReport) -> Iterator[Entry]:
        """Yield the records, run by run."""
        report.is_cut = any(file.is_cut for file in self.files)
        is_damaged = any(file.is_damaged for file in self.files)
        for entry in self._entries(report):
            if is_damaged:
                entry.run.mark_damaged()
            yield entry

    def _entries(self, report: ImportReport) -> Iterator[Entry]:
        file = self.files[0]
        if self.kind == TEXT:
            with file.open() as opened:
                yield from Log(opened, file.path, report).entries()
        elif self.kind == tables.KIND:
            with file.open() as opened:
                yield from tables.entries(opened, file.path, report)
        elif self.kind == event_files.KIND:
            yield from event_files.entries([event_file.open for event_file in self.files], file.path, report)
        elif self.kind == scored_responses.KIND:
            yield from scored_responses.entries(self.files, report)
        elif (document := _document(file)) is not None:
            if document.reason:
                report.add_line_remark(document.line, document.reason)
            report.is_cut = bool(document.reason) and not document.has_more
            yield from _document_entries(self.kind, document.value, file.path, report)


def recognise_sources(
    files: Iterable[File | RefusedFile],
) -> tuple[list[Source | RunFolder], list[RefusedFile]]:
    """Return the sources, in the order in which they are to be read, and the refused files."""
    readable, refused = list[File](), list[RefusedFile]()
    for file in files:
        if isinstance(file, RefusedFile):
            refused.append(file)
        else:
            readable.append(file)
    try:
        run_folders, others = find_run_folders(readable)
    except OSError as error:
        return [], [*refused, RefusedFile("the folder", f"cannot be read: {error.strerror or error}")]
    return [*run_folders, *_recognise_files(others, refused)], refused


def _recognise_files(files: Iterable[File], refused: list[RefusedFile]) -> list[Source]:
    """Return the sources among files that belong to no run folder, and add the refused ones."""
    sources, together = list[Source](), dict[tuple[str, str, str], list[File]]()
    for file in files:
        try:
            kind, reason = _kind(file)
        except OSError as error:
            kind, reason = "", f"cannot be read: {error.strerror}"
        except MemoryError:
            kind, reason = "", f"cannot be read: {NO_MEMORY}"
        if reason:
            refused.append(RefusedFile(file.name, reason))
        elif kind in MULTI_FILE_KINDS:
            tag = (tag_of(file)[0] or file.name) if kind == scored_responses.KIND else ""
            together.setdefault((kind, file.folder, tag), []).append(file)
        else:
            sources.append(Source(kind, (file,)))
    sources += [Source(kind, tuple(_in_order(kind, group))) for (kind, _, _), group in together.items()]
    return sorted(sources, key=lambda source: (ORDER.index(source.kind), natural_key(source.name)))


def _kind(file: File) -> tuple[str, str]:
    """Return (kind, reason why it is not read); one of them is empty."""
    if not file.size:
        return "", "is empty"
    head = file.head(HEAD)
    kind, reason = _kind_by_head(file, head)
    if kind or reason:
        return kind, reason
    if is_points(_first_line(file, head)):
        return scored_responses.KIND, ""
    if _is_table(file):
        return tables.KIND, ""
    start = head.removeprefix(BOM).split()
    looks_json = bool(start) and (start[0][:2] in (b'{"', b"[{", b"[]", b"{}") or start[0] in (b"{", b"["))
    return _kind_of_document(file) if looks_json else (TEXT, "")


def _kind_by_head(file: File, head: bytes) -> tuple[str, str]:
    """Return (kind, reason why it is not read) of a binary file; two empty texts for text, which needs more bytes."""
    if tfrecord.is_record_file(head):
        return event_files.KIND, ""
    if npy.is_array_file(head):
        is_named = tag_of(file)[1] in ("Rs", "Cs", "labels")
        reason = (
            "is a NumPy array, and its name does not end in _Rs.npy, _Cs.npy or _labels.npy, which determine its "
            "content"
        )
        return (scored_responses.KIND, "") if is_named else ("", reason)
    if b"\x00" in ZERO_BLOCKS.sub(b"", head):
        return "", f"is binary and of no supported kind ({KINDS})"
    return "", ""


def refusal_by_head(name: str, head: bytes) -> str:
    """Return why no reader reads a file that begins with this MiB, before more of it is unpacked; empty if one may."""
    if head.startswith(UTF16_MARKS):
        return ""
    kind, reason = _kind_by_head(File(name, name, len(head), window(io.BytesIO(head), 0, len(head))), head[:HEAD])
    text = ZERO_BLOCKS.sub(b"", head).removeprefix(BOM).lstrip()
    is_one_line = len(text) >= MAX_LINE_BYTES and b"\n" not in text and b"\r" not in text
    if not kind and not reason and is_one_line and text[:1] not in (b"{", b"["):
        return f"has no line end in its first {MAX_LINE_BYTES} bytes, so it is of no supported kind"
    return reason


def _first_line(file: File, head: bytes) -> bytes:
    """Return the first line that is not blank. A line of JSON is read beyond `head`, for an answer may be longer."""
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
    if file.size > MAX_DOCUMENT_BYTES:
        return "", f"is a JSON document of {file.size} bytes; at most {MAX_DOCUMENT_BYTES} are read"
    document = _document(file)
    if document is None:
        return TEXT, ""
    kind = next((kind for kind, is_kind in DOCUMENT_CHECKS.items() if is_kind(document.value)), "")
    if document.has_more and not kind:
        return TEXT, ""
    return kind, "" if kind else "is JSON, but not an evaluation, a report, a summary or a trainer state"


def _document(file: File) -> partial_json.Document | None:
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


def _in_order(kind: str, files: Sequence[File]) -> list[File]:
    if kind == scored_responses.KIND:
        return sorted(files, key=lambda file: file.name)
    return sorted(files, key=lambda file: (first_time(file.open), natural_key(file.name)))
