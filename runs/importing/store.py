"""Save imported runs, through ingest. A known run creates nothing; a run with a longer file replaces the old one.

A source is written in one transaction: all of its runs, or none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from runs import flags
from runs.importing.files import MB
from runs.importing.hyperparameters import config_of
from runs.importing.matching_imports import KnownRuns
from runs.importing.readers.reports import is_compared
from runs.importing.records import Entry, ImportedRun, ImportReport, SeedSums
from runs.importing.relations import evaluated_seeds
from runs.importing.run_names import name_of, setting_of
from runs.importing.source_kinds import TEXT
from runs.importing.stored_sources import ReadableSource
from runs.ingest import delete_records, ingest
from runs.ingest.storable import storable
from runs.models import Attempt, AttemptEvent, Experiment, Import, Origin, Run, key_of
from workers.executors.states import State
from workers.records import Line
from workers.records.times import is_time

BATCH_SIZE = 2_000
"""Number of records per call of ingest."""
MAX_RUN_REMARKS = 20
MAX_LOG_BYTES = 64 * MB
MAX_SECONDS = 3e9
"""Durations of a century and more are no seconds, and not stored."""


@dataclass
class ImportTarget:
    """The target of an import is an experiment, or the user's experiment of this name, created with its first run.

    If the name is only a default, the runs of all of the user's experiments count as known.
    """

    person: User
    name: str
    is_default: bool = False
    experiment: Experiment | None = None
    is_new: bool = False

    def take(self) -> Experiment:
        """Return the experiment, and create it if there is none."""
        if self.experiment is None:
            existing = self.existing()
            self.is_new = existing is None
            self.experiment = existing or Experiment.objects.create(owner=self.person, name=self.name)
        return self.experiment

    def existing(self) -> Experiment | None:
        """Return the experiment if there is one, by its name if none was given."""
        experiments = Experiment.objects.filter(owner=self.person, name=self.name, deleted_at=None)
        return self.experiment or experiments.order_by("pk").first()

    def known_imports(self) -> Any:
        """Return the imports with which a file is compared."""
        experiments = Experiment.objects.filter(owner=self.person)
        if self.is_default:
            return Import.objects.not_deleted().among(experiments)
        named = experiments.filter(name=self.name) if self.experiment is None else [self.experiment]
        return Import.objects.not_deleted().filter(run__experiment__in=named)

    def known_sizes(self) -> list[int]:
        """Return the sizes in bytes of all files with which a file may be compared."""
        imports = Import.objects.not_deleted().among(Experiment.objects.filter(owner=self.person))
        own = imports if self.experiment is None else imports | Import.objects.filter(run__experiment=self.experiment)
        return list(own.order_by("bytes").values_list("bytes", flat=True).distinct())

    def join(self, run: Run) -> None:
        """Make the experiment of a known run the target, unless there is one: new runs join it."""
        if self.experiment is None:
            self.experiment = run.experiment


@dataclass
class Outcome:
    """The outcome of a source lists the runs that it created, continued, or found known."""

    name: str
    kinds: dict[str, None] = field(default_factory=dict)
    new_runs: list[Run] = field(default_factory=list)
    continued_runs: list[Run] = field(default_factory=list)
    known_runs: list[Run] = field(default_factory=list)
    records: int = 0
    report: ImportReport = field(default_factory=ImportReport)

    @property
    def is_understood(self) -> bool:
        """Return whether the source held something that is read here."""
        return bool(self.new_runs or self.continued_runs or self.known_runs or self.report.is_understood)


def take_turn(name: str) -> None:
    """Wait for other transactions that have taken this turn, and hold it until this one ends. No row is locked, so that
    an import of minutes delays nothing else that its user does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])


def save_source(source: ReadableSource, target: ImportTarget) -> Outcome:
    """Save the runs of a source. Raise OSError if it cannot be read."""
    outcome = Outcome(source.name, {} if source.kind == TEXT else {source.kind: None})
    if not source.holds_runs:
        # Without runs there is nothing to compare with the database, or to store there.
        list(source.entries(outcome.report))
        return outcome
    with transaction.atomic():
        # A user's imports run one at a time, so that two uploads of the same file create its runs once.
        take_turn(f"imports of user {target.person.pk}")
        writer = _SourceWriter(source, target, outcome)
        for entry in source.entries(outcome.report):
            writer.add(entry)
        writer.end()
    # Only now, because records of the experiment's other runs wait for a transaction that marks them.
    for run in [*outcome.new_runs, *outcome.continued_runs]:
        flags.mark_ended(run)
    writer.copy_logs()
    return outcome


class _SourceWriter:
    """Save the runs of one source."""

    def __init__(self, source: ReadableSource, target: ImportTarget, outcome: Outcome) -> None:
        self._source, self._target, self._outcome = source, target, outcome
        self._known_runs = KnownRuns(source, target.known_imports())
        self._run: ImportedRun | None = None
        self._attempt: Attempt | None = None
        self._lines: list[Line] = []
        self._epoch = self._seq = self._records = 0
        self._logs: list[Path] = []

    def add(self, entry: Entry) -> None:
        """Add an entry. The entries of one run must follow each other."""
        if entry.sums is not None and self._is_compared(entry.sums):
            return
        if self._run is None or entry.run.part != self._run.part:
            self.end()
            self._begin(entry.run)
        if self._attempt is None or entry.record is None:
            return
        if entry.epoch != self._epoch or len(self._lines) >= BATCH_SIZE:
            self._flush(entry.epoch)
        t = math.nan if entry.at is None else self._base(entry.run) + entry.at
        self._lines.append(Line(self._seq, t, entry.record))
        self._seq += 1
        self._records += 1

    def end(self) -> None:
        """Complete the current run, if there is one."""
        imported_run, attempt = self._run, self._attempt
        if imported_run is None or attempt is None:
            return
        self._flush(self._epoch)
        self._complete(imported_run, attempt)
        self._run = self._attempt = None

    def copy_logs(self) -> None:
        """Copy the log into the directories of its runs, where their pages display it."""
        for directory in self._logs:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                with self._source.files[0].open() as log, (directory / "log.txt").open("wb") as copy:
                    copy.writelines(iter(lambda: log.read(MB), b""))
            except OSError as error:
                self._outcome.report.add_remark("", f"the log could not be saved with its run: {error.strerror}")

    def _is_compared(self, sums: SeedSums) -> bool:
        """Compare a report's row with the imported seeds of its settings, and return whether anything was compared."""
        experiment = self._target.existing()
        hyperparameters = config_of(sums.method, sums.settings).get(sums.method)
        seeds = [] if experiment is None else evaluated_seeds(experiment, sums.method, hyperparameters)
        return is_compared(sums, seeds, self._outcome.report)

    def _begin(self, imported_run: ImportedRun) -> None:
        self._run, self._attempt = imported_run, None
        self._epoch = self._seq = self._records = 0
        self._outcome.kinds[imported_run.kind] = None
        match = self._known_runs.find(imported_run)
        if match is not None:
            self._target.join(match.row.run)
        if match is not None and not match.has_more:
            self._outcome.known_runs.append(match.row.run)
            return
        run = self._create_run(imported_run) if match is None else match.row.run
        if match is not None:
            delete_records(run)
            self._outcome.continued_runs.append(run)
        self._attempt = Attempt.objects.create(
            run=run, n=1, key=key_of(run, 1), cluster=None, origin=Origin.IMPORT, state=State.LOST,
            drained_at=timezone.now(),
        )  # fmt: skip

    def _create_run(self, imported_run: ImportedRun) -> Run:
        run = Run.objects.create(
            experiment=self._target.take(), name=self._source.name[:200], method=imported_run.stored_method,
            seed=imported_run.seed, config={}, state=State.LOST, created_by=self._target.person,
            tags=list(imported_run.tags),
        )  # fmt: skip
        self._outcome.new_runs.append(run)
        return run

    def _flush(self, epoch: int) -> None:
        if self._lines and self._attempt is not None:
            ingest(self._attempt, self._epoch, self._lines)
        self._lines = []
        if epoch != self._epoch:
            self._epoch, self._seq = epoch, 0

    def _complete(self, imported_run: ImportedRun, attempt: Attempt) -> None:
        """Store the values that are complete only at the end of a run: its config, its state, its times."""
        run, source = attempt.run, self._source
        config = config_of(imported_run.stored_method, imported_run.settings)
        run.name, run.method, run.seed = (
            name_of(imported_run, config, source.name),
            imported_run.stored_method,
            imported_run.seed,
        )
        run.config, run.state, run.preset = config, imported_run.state, setting_of(imported_run, config)
        run.note = run.note or storable(f"Imported from {source.name}. {imported_run.note}".strip())
        run.save(update_fields=["name", "method", "seed", "config", "state", "preset", "note"])
        began = datetime.fromtimestamp(self._base(imported_run), UTC)
        seconds = imported_run.seconds if 0 <= imported_run.seconds < MAX_SECONDS else 0.0
        attempt.state, attempt.reason, attempt.native_id = (
            imported_run.state,
            storable(imported_run.reason),
            imported_run.job_id,
        )
        # A duration is displayed only if the file states one.
        attempt.started_at, attempt.ended_at = began if seconds else None, began + timedelta(seconds=seconds)
        attempt.save()
        self._save_events(attempt)
        facts = {
            "kind": imported_run.kind, "name": storable(source.name), "sha256": self._known_runs.sha256,
            "bytes": self._known_runs.bytes, "part": imported_run.part, "records": self._records,
        }  # fmt: skip
        if run in self._outcome.new_runs[-1:]:
            Import.objects.create(run=run, **facts)
        else:
            Import.objects.update_or_create(run=run, defaults=facts)
        self._outcome.records += self._records
        if imported_run.keeps_log and source.files[0].size <= MAX_LOG_BYTES:
            self._logs.append(attempt.directory)

    def _save_events(self, attempt: Attempt) -> None:
        """Save the attempt's events: its source, and the remarks on what was not understood."""
        text = f"imported from {self._source.name}: {self._records} record{'' if self._records == 1 else 's'}"
        attempt.note(storable(text), after=attempt.state)
        report = self._outcome.report
        AttemptEvent.objects.bulk_create(
            AttemptEvent(attempt=attempt, level="warning", why=storable(f"{self._source.name}, {remark}"))
            for remark in [*report.remarks[:MAX_RUN_REMARKS], *report.refused_cells]
        )

    def _base(self, imported_run: ImportedRun) -> float:
        """Return the Unix time at which the run began, if the file states it; else of the last write, or now."""
        for timestamp in (imported_run.started_at, self._source.modified_at):
            if timestamp is not None and is_time(timestamp):
                return timestamp
        return timezone.now().timestamp()
