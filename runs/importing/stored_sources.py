"""Sources as a reading process leaves them: a file of frames, from which the site's process saves the runs.

A frame is JSON, so that no code of a stranger runs where it is loaded.
"""

from __future__ import annotations

import errno
import io
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import IO, Any, Protocol

import numpy as np

from runs.importing.files import File
from runs.importing.records import Entry, ImportedRun, ImportReport, Refusal, RefusedCell, Remark, SeedSums
from workers.executors.states import State
from workers.records import Member, Metric, Population, Record, Response

BATCH_SIZE = 1_000
"""Number of entries in a frame."""
HEAD = struct.Struct("<BQ")
SOURCES, BEGIN, ENTRIES, END_RUN, END, FAILED, PIECE = range(7)
"""Kinds of frames: the list of sources; of each source a beginning, entries, ends of runs, and its end; a traceback; a
piece of the records of a run folder."""
RESPONSE_FIELDS = tuple(part.name for part in fields(Response))
MEMBER_FIELDS = tuple(part.name for part in fields(Member))
REPORT_LISTS = ("remarks", "facts", "disagreements")


class FrameWriter:
    """Write frames at the end of a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, kind: int, content: Any) -> None:
        """Append a frame. Raise OSError, and TypeError if the content is not plain data."""
        text = json.dumps(content, default=_plain).encode()
        self._file.write(HEAD.pack(kind, len(text)) + text)
        self._file.flush()

    def write_entries(self, entries: Iterable[Entry], report: ImportReport) -> None:
        """Append the entries of one source, and its report. A run is complete when the next one begins."""
        run: ImportedRun | None = None
        batch: list[tuple[Any, ...]] = []
        for entry in entries:
            if run is not None and (entry.run.part != run.part or len(batch) >= BATCH_SIZE):
                self._write_batch(run, batch, report, is_end=entry.run.part != run.part)
                batch = []
            elif run is not None and batch and entry.run.started_at != batch[-1][-1]:
                self._write_batch(run, batch, report, is_end=False)
                batch = []
            is_first = run is None or run.part != entry.run.part
            run = entry.run
            batch.append((_pack(entry.record), entry.at, entry.epoch, _pack_sums(entry.sums), run.started_at))
            if is_first:
                # Who stores the run looks for it by what is stated at its first entry; more may be stated later.
                self._write_batch(run, batch, report, is_end=False)
                batch = []
        if run is not None:
            self._write_batch(run, batch, report, is_end=True)

    def _write_batch(
        self, run: ImportedRun, batch: list[tuple[Any, ...]], report: ImportReport, *, is_end: bool
    ) -> None:
        self.write(ENTRIES, (_pack_run(run, batch[0][-1] if batch else run.started_at), [row[:-1] for row in batch]))
        if is_end:
            counts = len(report.remarks), len(report.refused_cells)
            self.write(END_RUN, (_pack_run(run, run.started_at), counts))


class ReadableSource(Protocol):
    """A source whose runs can be saved: one that is read meanwhile, or one that was read before."""

    @property
    def kind(self) -> str:
        """Return the kind of its files."""

    @property
    def name(self) -> str:
        """Return the name of its file, or of its folder with the number of files."""

    @property
    def modified_at(self) -> float | None:
        """Return the time of the last change in Unix seconds; None if it is unknown."""

    @property
    def files(self) -> Sequence[File]:
        """Return its files."""

    @property
    def holds_runs(self) -> bool:
        """Return False if it is known to have no entries."""

    def digests(self, sizes: Iterable[int]) -> tuple[int, str, dict[int, str]]:
        """Return (number of bytes, SHA-256 of all, n -> SHA-256 of the first n bytes for each n of `sizes` below)."""

    def entries(self, report: ImportReport) -> Iterator[Entry]:
        """Yield the records, run by run, and put what was not understood into the report."""


@dataclass
class StoredSource:
    """A source that was read before. `error` and `unstorable`: why nothing of it can be saved."""

    kind: str
    name: str
    modified_at: float | None
    files: Sequence[File]
    frames: Frames
    at: list[tuple[int, int]] = field(default_factory=list)
    """Kind and offset of each of its frames."""
    size: int = 0
    sha256: str = ""
    beginnings: Sequence[tuple[int, str]] = ()
    report: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    unstorable: str = ""
    is_whole: bool = False
    """False until its last frame is known."""

    def digests(self, sizes: Iterable[int]) -> tuple[int, str, dict[int, str]]:
        """Return (number of bytes, SHA-256 of all, n -> SHA-256 of the first n bytes), of the sizes that were known as
        it was read, whatever `sizes` are."""
        return self.size, self.sha256, dict(self.beginnings)

    @property
    def holds_runs(self) -> bool:
        """Return whether it has entries."""
        return bool(self.at)

    def entries(self, report: ImportReport) -> Iterator[Entry]:
        """Yield the entries as they were read, and fill the report on the way as a reader does.

        Raise OSError or OverflowError if the reader did.
        """
        if self.error:
            raise OSError(errno.EIO, self.error)
        if self.unstorable:
            raise OverflowError(self.unstorable)
        run: ImportedRun | None = None
        remarks = [Remark(*remark) for remark in self.report["remarks"]]
        cells = [RefusedCell(*cell) for cell in self.report["refused_cells"]]
        for kind, offset in self.at:
            facts, content = self.frames.load(offset)
            if run is None or run.part != facts["part"]:
                run = ImportedRun(facts["part"], facts["kind"])
            vars(run).update(facts, state=State(facts["state"]), tags=tuple(facts["tags"]))
            if kind == END_RUN:
                report.remarks[:], report.refused_cells[:] = remarks[: content[0]], cells[: content[1]]
                continue
            for record, at, epoch, sums in content:
                yield Entry(run, _unpack(record), at, epoch, None if sums is None else SeedSums(*sums))
        self.fill(report)

    def fill(self, report: ImportReport) -> None:
        """Put into the report what reading the whole source put into it."""
        report.remarks[:] = [Remark(*remark) for remark in self.report["remarks"]]
        report.omitted_remarks, report.is_cut = self.report["omitted_remarks"], self.report["is_cut"]
        report.refused_cells[:] = [RefusedCell(*cell) for cell in self.report["refused_cells"]]
        report.omitted_cells = self.report["omitted_cells"]
        if (refusal := self.report["refusal"]) is not None:
            reason, expected_what, expected = refusal
            report.refusal = Refusal(reason, expected_what, tuple(expected))
        report.facts += self.report["facts"]
        report.disagreements += self.report["disagreements"]


class Frames:
    """Read the frames of a file, from an offset on; a last one that is not whole is left out."""

    def __init__(self, file: IO[bytes], start: int) -> None:
        self._file, self._start = file, start

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the kind and the offset of each frame."""
        offset, end = self._start, self._file.seek(0, io.SEEK_END)
        while offset + HEAD.size <= end:
            self._file.seek(offset)
            kind, size = HEAD.unpack(self._file.read(HEAD.size))
            if offset + HEAD.size + size > end:
                return
            yield kind, offset
            offset += HEAD.size + size

    def load(self, offset: int) -> Any:
        """Return the content of the frame at an offset."""
        self._file.seek(offset)
        _, size = HEAD.unpack(self._file.read(HEAD.size))
        return json.loads(self._file.read(size))


def _plain(value: Any) -> Any:
    """Return a number of NumPy as Python's own. Raise TypeError for anything else that JSON has not."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not plain data")


def pack_report(report: ImportReport) -> dict[str, Any]:
    """Return a report as plain data."""
    return {
        "remarks": [(remark.position, remark.reason) for remark in report.remarks],
        "omitted_remarks": report.omitted_remarks,
        "refused_cells": [(cell.line, cell.column, cell.text, cell.reason) for cell in report.refused_cells],
        "omitted_cells": report.omitted_cells,
        "facts": report.facts,
        "disagreements": report.disagreements,
        "is_cut": report.is_cut,
        "refusal": None if report.refusal is None else astuple(report.refusal),
    }


def _pack_run(run: ImportedRun, started_at: float | None) -> dict[str, Any]:
    return {**vars(run), "state": str(run.state), "tags": list(run.tags), "started_at": started_at}


def _pack_sums(sums: SeedSums | None) -> tuple[Any, ...] | None:
    return None if sums is None else (sums.method, sums.settings, sums.row, sums.label)


def _pack(record: Record | None) -> tuple[Any, ...] | None:
    if isinstance(record, Metric):
        return record.step, record.values, record.axes
    if isinstance(record, Response):
        return tuple(getattr(record, name) for name in RESPONSE_FIELDS)
    if isinstance(record, Population):
        return record.step, [tuple(getattr(member, name) for name in MEMBER_FIELDS) for member in record.members]
    if record is None:
        return None
    raise TypeError(f"a reader yields metrics, responses and populations, not {type(record).__name__}")


def _unpack(packed: Sequence[Any] | None) -> Record | None:
    if packed is None:
        return None
    if len(packed) == 2:
        step, members = packed
        return Population(step, tuple(Member(*member) for member in members))
    return Metric(*packed) if len(packed) == 3 else Response(*packed)
