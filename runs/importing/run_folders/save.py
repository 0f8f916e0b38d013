"""Save the run of a run folder, through ingest. The same folder again creates nothing; what it has more is added.

A folder is written in one transaction: all of its records, or none. Its files are copied afterwards.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Protocol

from django.db import transaction

from runs import flags
from runs.importing.records import UNKNOWN_METHOD, ImportReport, Remark
from runs.importing.run_folders.assemble import KIND
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.importing.run_folders.attempt_writer import AttemptWriter
from runs.importing.run_folders.copies import copy_files
from runs.importing.run_folders.matching import KnownFolders, Match
from runs.importing.run_folders.own_files import (
    OwnConfig,
    read_config,
    stated_method,
)
from runs.importing.run_folders.record_files import RecordPiece
from runs.importing.run_folders.site_facts import (
    apply_run_facts,
    apply_scores,
    apply_site_facts,
    read_site_facts,
)
from runs.importing.store import ImportTarget, Outcome, take_turn
from runs.ingest import delete_records
from runs.ingest.storable import storable
from runs.launching import default_run_name
from runs.models import Import, Run
from runs.models.attempt_files import SITE_SCORES
from workers.executors.states import State

MAX_NAME_LENGTH = 200
FEWER = (
    "{name} was imported before with other records, and this folder holds no more of them: nothing was changed; delete "
    "that run to import this folder in its place"
)


class ReadableFolder(Protocol):
    """A run folder that is read meanwhile, or one that was read before."""

    @property
    def name(self) -> str:
        """Return the name of its folder, or of the folder of its attempts with their number."""

    @property
    def left_out(self) -> list[Remark]:
        """Return the files that are neither read nor copied, with the reason."""

    @property
    def uid(self) -> str:
        """Return the uid in the names of its folders; empty if they have none."""

    @property
    def attempts(self) -> list[AttemptFolder]:
        """Return the folders of its attempts, in their order."""

    def pieces(self, report: ImportReport) -> Iterator[RecordPiece]:
        """Yield the records, attempt by attempt, and report what cannot be read. Raise OSError."""


def save_run_folder(folder: ReadableFolder, target: ImportTarget) -> Outcome:
    """Save the run of a folder. Raise OSError if it cannot be read."""
    outcome = Outcome(folder.name, {KIND: None})
    outcome.report.remarks += folder.left_out
    with transaction.atomic():
        # A user's imports run one at a time, so that two uploads of the same folder create its run once.
        take_turn(f"imports of user {target.person.pk}")
        run, older = _save(folder, target, outcome)
    if run in (*outcome.new_runs, *outcome.continued_runs):
        flags.mark_ended(run)
    attempts = {attempt.n: attempt for attempt in run.attempts.select_related("run")}
    with transaction.atomic():
        take_turn(f"files of run {run.pk}")
        for attempt_folder in folder.attempts:
            if attempt_folder.n in attempts and attempt_folder.n not in older:
                copy_files(attempt_folder, attempts[attempt_folder.n], outcome.report)
    return outcome


def _save(folder: ReadableFolder, target: ImportTarget, outcome: Outcome) -> tuple[Run, frozenset[int]]:
    """Save the records, and return (the run that has them, the attempts whose files here are not those of the run)."""
    known = KnownFolders(folder.uid, folder.attempts, target.known_imports())
    match = known.find()
    if match is not None:
        target.join(match.row.run)
        if not _is_continued(match, folder, outcome):
            # What a file lacks is reported each time that it is imported.
            for _ in folder.pieces(outcome.report):
                pass
            outcome.known_runs.append(match.row.run)
            return match.row.run, frozenset(n for n, _ in match.files) if match.differs else match.older
        if match.differs:
            _empty(match.row)
            match = Match(match.row, {})
    writer = _RunWriter(folder, target, outcome, match)
    writer.write(known)
    return writer.run, match.older if match is not None else frozenset()


def _is_continued(match: Match, folder: ReadableFolder, outcome: Outcome) -> bool:
    """Return whether the folder has more than was read of it. Report a folder that differs and has no more records."""
    if match.differs and sum(piece_count(folder)) <= match.row.records:
        outcome.report.facts.append(FEWER.format(name=match.row.run.name))
        return False
    return match.has_more or match.differs


def _empty(row: Import) -> None:
    """Delete all that was read of a run, and the files that were copied for it."""
    delete_records(row.run)
    row.files, row.records = {}, 0
    row.save(update_fields=["files", "records"])
    transaction.on_commit(lambda: shutil.rmtree(row.run.root, ignore_errors=True))


def piece_count(folder: ReadableFolder) -> Iterator[int]:
    """Yield the number of records of each piece. Raise OSError."""
    return (len(piece.lines) for piece in folder.pieces(ImportReport()))


class _RunWriter:
    """Writer of the run of a folder."""

    def __init__(self, folder: ReadableFolder, target: ImportTarget, outcome: Outcome, match: Match | None) -> None:
        self._folder, self._target, self._outcome, self._report = folder, target, outcome, outcome.report
        self._configs = {attempt.n: read_config(attempt, self._report) for attempt in folder.attempts}
        self._own = self._newest_config()
        self._older = match.older if match is not None else frozenset()
        self.run = self._create_run() if match is None else match.row.run
        (outcome.new_runs if match is None else outcome.continued_runs).append(self.run)

    def write(self, known: KnownFolders) -> None:
        """Write everything."""
        size, sha256 = known.first_line
        row, _ = Import.objects.get_or_create(
            run=self.run,
            defaults={"kind": KIND, "name": storable(self._folder.name), "sha256": sha256, "bytes": size, "part": 0},
        )
        row.foreign_uid = self._folder.uid or row.foreign_uid
        first = AttemptWriter.begin(self._folder.attempts[0], self.run)
        writers = {first.folder.n: first}
        for piece in self._folder.pieces(self._report):
            if piece.n not in writers:
                attempt = next(attempt for attempt in self._folder.attempts if attempt.n == piece.n)
                writers[piece.n] = AttemptWriter.begin(attempt, self.run)
            writers[piece.n].add(piece)
        for attempt in self._folder.attempts:
            writer = writers.get(attempt.n) or AttemptWriter.begin(attempt, self.run)
            writers[attempt.n] = writer
            if attempt.n not in self._older:
                writer.finish(self._configs[attempt.n], self._folder.uid, self._report)
        self._end_run(writers)
        row.files |= {str(n): writer.files() for n, writer in writers.items() if n not in self._older}
        row.records += sum(writer.stored for writer in writers.values())
        row.save()
        self._apply_site_facts(writers)
        self._outcome.records = sum(writer.stored for writer in writers.values())

    def _newest_config(self) -> OwnConfig:
        """Return the config of the newest attempt that has one."""
        return next((own for _, own in sorted(self._configs.items(), reverse=True) if own.data), OwnConfig())

    def _create_run(self) -> Run:
        own = self._own
        return Run.objects.create(
            experiment=self._target.take(), name=self._name(), method=stated_method(own, ""), seed=own.seed,
            config=own.data, state=State.UNKNOWN, created_by=self._target.person,
            note=storable(f"Imported from {self._folder.name}."),
        )  # fmt: skip

    def _name(self) -> str:
        """Return the name of a run: that of its folder, or what the site calls a run of its config if that is a key."""
        folder = self._folder.attempts[0].name.rpartition("/")[2]
        if self._own.config is not None and (self._folder.uid or folder in ("", ".")):
            return default_run_name(self._own.config, "")[:MAX_NAME_LENGTH]
        return storable(folder if folder != "." else "run")[:MAX_NAME_LENGTH]

    def _end_run(self, writers: dict[int, AttemptWriter]) -> None:
        """Store the method, the config and the state of the run, which is that of its newest attempt."""
        run, own = self.run, self._own
        recorded = next((writer.end.method for writer in writers.values() if writer.end.method), "")
        run.method = stated_method(own, recorded) if own.data or run.method == UNKNOWN_METHOD else run.method
        if own.data and max(writers) not in self._older:
            run.config, run.seed = own.data, own.seed
        run.state = run.attempts.order_by("-n").values_list("state", flat=True)[0]
        run.save(update_fields=["method", "config", "seed", "state"])

    def _apply_site_facts(self, writers: dict[int, AttemptWriter]) -> None:
        """Store what the exporting site knew of the run and its attempts, if they were exported. Raise OSError."""
        newest = None
        for n, writer in sorted(writers.items()):
            if n in self._older:
                continue
            if (newest := read_site_facts(writer.folder, self._report)) is not None:
                apply_site_facts(writer.row, newest, self._report)
            if (scores := writer.folder.files.get(SITE_SCORES)) is not None:
                apply_scores(writer.row, scores, self._report)
        if newest is not None:
            apply_run_facts(self.run, newest.run, is_new=self.run in self._outcome.new_runs)
