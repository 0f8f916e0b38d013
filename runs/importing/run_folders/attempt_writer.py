"""Write one attempt of a run folder: its row, its records through ingest, how it ended, and what was not readable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from runs.importing.records import ImportReport
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.importing.run_folders.attempt_state import EndOfAttempt, RecordsEnd, end_of_attempt, missing_end
from runs.importing.run_folders.copies import report_cut_files
from runs.importing.run_folders.matching import digest_of, first_line
from runs.importing.run_folders.own_files import OwnConfig, details_digest, read_arguments, read_ending
from runs.importing.run_folders.record_files import RecordPiece
from runs.ingest import ingest
from runs.ingest.storable import storable
from runs.models import Attempt, AttemptEvent, Origin, RecordFile, Run, key_of
from workers.attempt import LOG_FILE
from workers.code import Code
from workers.executors.states import State

MAX_EVENTS = 20
"""Remarks of the import that are stored as events of an attempt."""


@dataclass
class AttemptWriter:
    """Writer of one attempt: its row, its files so far, and what its records have shown."""

    folder: AttemptFolder
    row: Attempt
    offsets: dict[int, int]
    end: RecordsEnd = field(default_factory=RecordsEnd)
    stored: int = 0

    def add(self, piece: RecordPiece) -> None:
        """Store the lines of a piece that were not read before, and a cut at the end of the file."""
        known = self.offsets.get(piece.epoch, -1)
        self.end.add(piece, self.folder.records[piece.epoch].name.rpartition("/")[2])
        if piece.end > known:
            broken = [line for line in piece.broken if line.offset >= known]
            self.stored += ingest(self.row, piece.epoch, piece.lines, offset=piece.end, broken=broken)
        if piece.is_last and piece.cut_bytes and piece.end > known:
            why = f"The last line of records.{piece.epoch}.jsonl was cut off after {piece.cut_bytes} bytes"
            self.row.note(f"{why}: one record is lost", "warning")

    @classmethod
    def begin(cls, folder: AttemptFolder, run: Run) -> AttemptWriter:
        """Return the writer of an attempt of the run, with its row, created if there is none."""
        attempt = run.attempts.filter(n=folder.n).first()
        offsets = dict(RecordFile.objects.filter(attempt=attempt).values_list("epoch", "offset")) if attempt else {}
        if attempt is None:
            attempt = Attempt.objects.create(
                run=run, n=folder.n, key=key_of(run, folder.n), cluster=None, origin=Origin.IMPORT,
                state=State.UNKNOWN, drained_at=timezone.now(),
            )  # fmt: skip
        attempt.run = run
        return cls(folder, attempt, offsets)

    def finish(self, own: OwnConfig, uid: str, report: ImportReport) -> None:
        """Store how the attempt ended, and what could not be read of it. `uid`: of its run, in the folder's name."""
        folder, attempt = self.folder, self.row
        ending = read_ending(folder, report)
        end = end_of_attempt(attempt, ending, self.end, own.config, folder.files.get(LOG_FILE))
        if end.state == State.UNKNOWN:
            report.facts.append(f"how {folder.name} ended is unknown: {storable(end.reason)}")
        if missing := missing_end(ending, self.end):
            last = folder.records[max(folder.records)].name if folder.records else folder.name
            report.add_remark(last, missing)
        report_cut_files(folder, report)
        arguments = read_arguments(folder, uid, report)
        fields: dict[str, Any] = {
            **end.fields, "state": end.state, "reason": storable(end.reason),
            "code": Code(arguments.code_sha256).to_json() if arguments.code_sha256 else None,
            "resumed_attempt": arguments.resumed_attempt, "resumed_step": arguments.resumed_step,
        }  # fmt: skip
        Attempt.objects.filter(pk=attempt.pk).update(**fields)
        self._save_events(end, report)

    def files(self) -> dict[str, Any]:
        """Return what was read of the attempt, as `Import.files` has it. Raise OSError."""
        offsets = dict(RecordFile.objects.filter(attempt=self.row).values_list("epoch", "offset"))
        records: dict[str, Sequence[Any]] = {
            str(epoch): [offsets.get(epoch, 0), digest_of(file, offsets.get(epoch, 0)), first_line(file)[1]]
            for epoch, file in sorted(self.folder.records.items())
        }
        return {"details": details_digest(self.folder), "records": records}

    def _save_events(self, end: EndOfAttempt, report: ImportReport) -> None:
        """Store where the attempt came from, and the remarks on its files."""
        name, n = self.folder.name, self.stored
        text = storable(f"imported from {name}: {n} record{'' if n == 1 else 's'}")
        self.row.note(text, before=State.UNKNOWN, after=end.state)
        present = set(self.row.events.values_list("why", flat=True))
        start = self.folder.path_of("")
        remarks = [str(remark) for remark in report.remarks if remark.position.startswith(start)]
        AttemptEvent.objects.bulk_create(
            AttemptEvent(attempt=self.row, level="warning", why=why)
            for why in map(storable, remarks[:MAX_EVENTS])
            if why not in present
        )
