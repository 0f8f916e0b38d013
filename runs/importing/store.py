"""Found runs -> rows, through ingest. What is known makes nothing, what went on takes the old one's place.

A source is written in one transaction: all of its runs, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from runs.importing.detect_format import TEXT, Source
from runs.importing.files import MB
from runs.importing.hyperparameters import config_of
from runs.importing.known_runs import KnownRuns
from runs.importing.records import Entry, ImportedRun, ImportReport
from runs.importing.relations import evaluated_seeds
from runs.importing.run_names import name_of, setting_of
from runs.ingest import forget, ingest
from runs.ingest.storable import storable
from runs.models import Attempt, AttemptEvent, Experiment, Import, Origin, Run, key_of
from workers.executors.states import State
from workers.records import Line

FLUSH = 2_000
"""Records a batch."""
REMARKS_ON_RUN = 20
LOG_AT_MOST = 64 * MB
LATEST = datetime(9000, 1, 1, tzinfo=UTC).timestamp()


@dataclass
class ImportTarget:
    """The target of an import is an experiment, or the person's one of this name, created with its first run.

    If the name is only a default, the runs of all of the person's experiments count as known.
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
        mine = Experiment.objects.filter(owner=self.person, name=self.name, deleted_at=None)
        return self.experiment or mine.order_by("pk").first()

    def known(self) -> Any:
        """The imports among which a file is looked for."""
        mine = Experiment.objects.filter(owner=self.person)
        if self.is_default:
            return Import.objects.kept().among(mine)
        named = mine.filter(name=self.name) if self.experiment is None else [self.experiment]
        return Import.objects.kept().filter(run__experiment__in=named)

    def join(self, run: Run) -> None:
        """Make the experiment of a known run the target, unless there is one: new runs join it."""
        if self.experiment is None:
            self.experiment = run.experiment


@dataclass
class Outcome:
    """The outcome of a source lists the runs that it created, continued, or found known."""

    name: str
    kinds: dict[str, None] = field(default_factory=dict)
    made: list[Run] = field(default_factory=list)
    went_on: list[Run] = field(default_factory=list)
    known: list[Run] = field(default_factory=list)
    records: int = 0
    told: ImportReport = field(default_factory=ImportReport)

    @property
    def is_understood(self) -> bool:
        """Return whether the source held something that is read here."""
        return bool(self.made or self.went_on or self.known or self.told.facts or self.told.disagreements)


def keep(source: Source, place: ImportTarget) -> Outcome:
    """Writes the runs of a source. Raises OSError where it cannot be read."""
    outcome = Outcome(source.name, {} if source.kind == TEXT else {source.kind: None})
    with transaction.atomic():
        # One at a time for a person, so that of two who bring the same file one makes it.
        User.objects.select_for_update().get(pk=place.person.pk)
        keeper = _Keeper(source, place, outcome)
        for entry in source.entries(outcome.told, keeper.seeds_of):
            keeper.take(entry)
        keeper.end()
    keeper.keep_logs()
    return outcome


class _Keeper:
    """Writes one source."""

    def __init__(self, source: Source, place: ImportTarget, outcome: Outcome) -> None:
        self._source, self._place, self._outcome = source, place, outcome
        self._known_runs = KnownRuns(source, place.known())
        self._found: ImportedRun | None = None
        self._attempt: Attempt | None = None
        self._lines: list[Line] = []
        self._epoch = self._seq = self._records = 0
        self._logs: list[Path] = []

    def take(self, entry: Entry) -> None:
        """An entry; those of one run come one behind the other."""
        if self._found is None or entry.found.part != self._found.part:
            self.end()
            self._begin(entry.found)
        if self._attempt is None or entry.record is None:
            return
        if entry.epoch != self._epoch or len(self._lines) >= FLUSH:
            self._flush(entry.epoch)
        base = self._base(entry.found)
        self._lines.append(Line(self._seq, base + entry.at, entry.record))
        self._seq += 1
        self._records += 1

    def end(self) -> None:
        """The present run is complete."""
        found, attempt = self._found, self._attempt
        if found is None or attempt is None:
            return
        self._flush(self._epoch)
        self._complete(found, attempt)
        self._found = self._attempt = None

    def keep_logs(self) -> None:
        """Copies the log beside the runs that it is of, where their pages show it."""
        for directory in self._logs:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                with self._source.files[0].open() as log, (directory / "log.txt").open("wb") as copy:
                    copy.writelines(iter(lambda: log.read(MB), b""))
            except OSError as error:
                self._outcome.told.remark("", f"the log could not be kept beside its run: {error.strerror}")

    def seeds_of(self, method: str, settings: Mapping[str, Any]) -> Sequence[Mapping[str, float]]:
        """The last numbers of the seeds that were evaluated in these settings, and are here."""
        experiment = self._place.existing()
        hyperparameters = config_of(method, settings).get(method)
        return [] if experiment is None else evaluated_seeds(experiment, method, hyperparameters)

    def _begin(self, found: ImportedRun) -> None:
        self._found, self._attempt = found, None
        self._epoch = self._seq = self._records = 0
        self._outcome.kinds[found.kind] = None
        match = self._known_runs.find(found)
        if match is not None:
            self._place.join(match.row.run)
        if match is not None and not match.has_more:
            self._outcome.known.append(match.row.run)
            return
        run = self._made(found) if match is None else match.row.run
        if match is not None:
            forget(run)
            self._outcome.went_on.append(run)
        self._attempt = Attempt.objects.create(
            run=run, n=1, key=key_of(run, 1), cluster=None, origin=Origin.IMPORT, state=State.LOST,
            drained_at=timezone.now(),
        )  # fmt: skip

    def _made(self, found: ImportedRun) -> Run:
        run = Run.objects.create(
            experiment=self._place.take(), name=self._source.name[:200], method=found.stored_method,
            seed=found.seed, config={}, state=State.LOST, created_by=self._place.person, tags=list(found.tags),
        )  # fmt: skip
        self._outcome.made.append(run)
        return run

    def _flush(self, epoch: int) -> None:
        if self._lines and self._attempt is not None:
            ingest(self._attempt, self._epoch, self._lines)
        self._lines = []
        if epoch != self._epoch:
            self._epoch, self._seq = epoch, 0

    def _complete(self, found: ImportedRun, attempt: Attempt) -> None:
        """Store what is known only at the end of a run: its config, its state, its times."""
        run, source = attempt.run, self._source
        config = config_of(found.stored_method, found.settings)
        run.name, run.method, run.seed = name_of(found, config, source.name), found.stored_method, found.seed
        run.config, run.state, run.preset = config, found.state, setting_of(found, config)
        run.note = run.note or storable(f"Imported from {source.name}. {found.note}".strip())
        run.save(update_fields=["name", "method", "seed", "config", "state", "preset", "note"])
        began, seconds = _moment(self._base(found)), min(max(found.seconds, 0.0), 3e9)
        attempt.state, attempt.reason, attempt.native_id = found.state, storable(found.reason), found.job_id
        # How long it took is shown only where that is told.
        attempt.started_at, attempt.ended_at = began if seconds else None, began + timedelta(seconds=seconds)
        attempt.save()
        self._tell(attempt)
        Import.objects.update_or_create(
            run=run,
            defaults={"kind": found.kind, "name": storable(source.name), "sha256": self._known_runs.sha256,
                      "bytes": self._known_runs.bytes,
                      "part": found.part, "records": self._records},
        )  # fmt: skip
        self._outcome.records += self._records
        if found.keeps_log and source.files[0].size <= LOG_AT_MOST:
            self._logs.append(attempt.directory)

    def _tell(self, attempt: Attempt) -> None:
        """The attempt's story: where it came from, and what was not understood."""
        found = f"imported from {self._source.name}: {self._records} record{'' if self._records == 1 else 's'}"
        attempt.note(storable(found), after=attempt.state)
        AttemptEvent.objects.bulk_create(
            AttemptEvent(attempt=attempt, level="warning", why=storable(f"{self._source.name}, {remark}"))
            for remark in self._outcome.told.remarks[:REMARKS_ON_RUN]
        )

    def _base(self, found: ImportedRun) -> float:
        """When the run began, as the file says; else when the file was written last, or now."""
        for told in (found.started_at, self._source.modified_at):
            if told is not None and 0 <= told < LATEST:
                return told
        return timezone.now().timestamp()


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
