"""A run folder as a reading process leaves it: its files, and the pieces of its records as frames."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from runs.importing.budget import RESPONSE_VALUES, Budget
from runs.importing.files import MB, File
from runs.importing.records import ImportReport, Remark
from runs.importing.run_folders.assemble import RunFolder, assemble
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.importing.run_folders.record_files import RecordPiece
from runs.importing.stored_sources import PIECE, FrameWriter, StoredSource
from runs.models.attempt_files import SITE_SCORES
from workers.records import BrokenLine, Engines, Metric, Population, Probe, Record, Response, unpack

SCORE_VALUES = 5
"""Values that cost as much to save as a score."""
Packed = tuple[int, int, int, int, list[dict[str, Any]], list[tuple[int, str]], bool, int]


class StoredRunFolder(StoredSource):
    """A run folder that was read before."""

    @cached_property
    def _folder(self) -> RunFolder:
        (folder,), _ = assemble(self.files)
        return folder

    @property
    def uid(self) -> str:
        return self._folder.uid

    @property
    def attempts(self) -> list[AttemptFolder]:
        return self._folder.attempts

    @property
    def left_out(self) -> list[Remark]:
        """Return nothing: the reading process has put these remarks into the report."""
        return []

    def pieces(self, report: ImportReport) -> Iterator[RecordPiece]:
        """Yield the records as they were read, and fill the report. Raise OSError if the reader did."""
        if self.error:
            raise OSError(errno.EIO, self.error)
        for kind, offset in self.at:
            if kind == PIECE:
                yield _unpack_piece(self.frames.load(offset))
        self._extend(report)

    def _extend(self, report: ImportReport) -> None:
        """Add the remarks on the records to those that the report has."""
        for position, reason in self.report["remarks"]:
            report.add_remark(position, reason)
        report.omitted_remarks += self.report["omitted_remarks"]
        report.is_cut |= self.report["is_cut"]


def write_pieces(writer: FrameWriter, folder: RunFolder, budget: Budget, report: ImportReport) -> None:
    """Append the pieces of a run folder as frames. Raise OverBudget beyond a limit, and OSError."""
    report.remarks += folder.left_out
    for piece in folder.pieces(report):
        if piece.is_last:
            # A records file costs about as much to save as a run: an attempt has one for each start.
            budget.add_run()
        budget.add_values(sum(_cost(line.record) for line in piece.lines))
        writer.write(PIECE, _pack_piece(piece))
    for attempt in folder.attempts:
        if (scores := attempt.files.get(SITE_SCORES)) is not None:
            budget.add_values(SCORE_VALUES * _count_lines(scores))


def _cost(record: Record) -> int:
    """Return the numbers to save for a record; each row of other kinds costs as much as a response."""
    if isinstance(record, Metric):
        return 2 + len(record.values) + len(record.axes)
    if isinstance(record, Population):
        return 2 + sum(2 + len(member.parts) for member in record.members)
    if isinstance(record, Response):
        return RESPONSE_VALUES + 2 * len(record.parts)
    if isinstance(record, Engines):
        return RESPONSE_VALUES * (1 + len(record.engines))
    if isinstance(record, Probe):
        return RESPONSE_VALUES + 2 * len(record.values)
    return RESPONSE_VALUES


def _count_lines(file: File) -> int:
    """Return the number of lines of a file of scores. Raise OSError."""
    with file.open() as opened:
        return sum(piece.count(b"\n") for piece in iter(lambda: opened.read(MB), b""))


def _pack_piece(piece: RecordPiece) -> Packed:
    broken = [(line.offset, line.reason) for line in piece.broken]
    return piece.n, piece.epoch, piece.start, piece.end, piece.bodies, broken, piece.is_last, piece.cut_bytes


def _unpack_piece(packed: Iterable[Any]) -> RecordPiece:
    n, epoch, start, end, bodies, broken, is_last, cut_bytes = packed
    lines = [unpack(body) for body in bodies]
    return RecordPiece(
        n, epoch, start, end, lines, broken=[BrokenLine(*line) for line in broken], is_last=is_last, cut_bytes=cut_bytes
    )
