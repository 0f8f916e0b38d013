"""Detect the kind of a file by its content, and read its records. Event files of one folder make one source."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Sequence

from runs.importing import refusals
from runs.importing.files import MB, File, RefusedFile, natural_key, window
from runs.importing.readers import event_files, npy, scored_responses, tables, tfrecord, trainer_log
from runs.importing.readers.event_writers import group_by_writer
from runs.importing.readers.scored_responses import is_points, tag_of
from runs.importing.readers.table_records import parse_object
from runs.importing.readers.tables import is_table
from runs.importing.records import Refusal
from runs.importing.run_folders.assemble import RunFolder, find_run_folders
from runs.importing.source_kinds import DOCUMENT_CHECKS, DOCUMENT_KEYS, KINDS, MULTI_FILE_KINDS, ORDER, TEXT
from runs.importing.sources import MAX_DOCUMENT_BYTES, PIECE, Source, read_document
from runs.importing.text import BOM

HEAD = 4096
MAX_LINE_BYTES = MB
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ZERO_BLOCKS = re.compile(rb"\x00{64,}")
"""Match blocks of zeros. A log that was rotated while it was written begins with them, and a crash leaves some."""
NO_MEMORY = "reading it needs more memory than an import may have (ESWEB_IMPORT_MEMORY_MB)"


def recognise_sources(files: Iterable[File | RefusedFile]) -> tuple[list[Source | RunFolder], list[RefusedFile]]:
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
            kind, refusal = _kind(file)
        except OSError as error:
            kind, refusal = "", Refusal(f"cannot be read: {error.strerror}")
        except MemoryError:
            kind, refusal = "", Refusal(f"cannot be read: {NO_MEMORY}")
        if refusal.reason:
            refused.append(RefusedFile(file.name, refusal.reason, refusal.expected_what, refusal.expected))
        elif kind in MULTI_FILE_KINDS:
            tag = (tag_of(file)[0] or file.name) if kind == scored_responses.KIND else ""
            together.setdefault((kind, file.folder, tag), []).append(file)
        else:
            sources.append(Source(kind, (file,)))
    for (kind, _, _), group in together.items():
        sources += _group_sources(kind, group)
    return sorted(sources, key=lambda source: (ORDER.index(source.kind), natural_key(source.name)))


def _kind(file: File) -> tuple[str, Refusal]:
    """Return (kind, why it is not read); one of them is empty."""
    if not file.size:
        return "", Refusal("is empty")
    head = file.head(HEAD)
    kind, reason = _kind_by_head(file, head)
    return (kind, Refusal(reason)) if kind or reason else _kind_of_text(file, head)


def _kind_of_text(file: File, head: bytes) -> tuple[str, Refusal]:
    first = _first_line(file, head)
    if is_points(first):
        return scored_responses.KIND, Refusal()
    if trainer_log.is_trainer_log(first):
        return trainer_log.KIND, Refusal()
    if not _is_document(first) and _is_table(file):
        return tables.KIND, Refusal()
    start = head.removeprefix(BOM).split()
    looks_json = bool(start) and (start[0][:2] in (b'{"', b"[{", b"[]", b"{}") or start[0] in (b"{", b"["))
    return _kind_of_document(file) if looks_json else (TEXT, Refusal())


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


def _is_document(first: bytes) -> bool:
    """Return whether a first line is a whole document, which may have a step as the rows of a table have."""
    if not first.startswith(b"{") or b'"' not in first:
        return False
    value = parse_object(first.decode("utf-8", errors="replace"))
    return any(is_kind(value) for is_kind in DOCUMENT_CHECKS.values())


def _is_table(file: File) -> bool:
    head = file.head(PIECE)
    return is_table(head if len(head) == file.size else head[: head.rfind(b"\n") + 1])


def _kind_of_document(file: File) -> tuple[str, Refusal]:
    if file.size > MAX_DOCUMENT_BYTES:
        return "", Refusal(f"is a JSON document of {file.size} bytes; at most {MAX_DOCUMENT_BYTES} are read")
    document = read_document(file)
    if document is None:
        return TEXT, Refusal()
    kind = next((kind for kind, is_kind in DOCUMENT_CHECKS.items() if is_kind(document.value)), "")
    if document.has_more and not kind:
        return TEXT, Refusal()
    return kind, Refusal() if kind else refusals.explain_document(document.value, DOCUMENT_KEYS)


def _group_sources(kind: str, files: Sequence[File]) -> list[Source]:
    """Return the sources of the files of one kind in one folder: one, or one for each writer of event files."""
    if kind == scored_responses.KIND:
        return [Source(kind, tuple(sorted(files, key=lambda file: file.name)))]
    try:
        return [Source(kind, tuple(group), writer) for writer, group in group_by_writer(files)]
    except OSError:
        # Reading the source will report the error.
        return [Source(kind, tuple(sorted(files, key=lambda file: natural_key(file.name))))]
