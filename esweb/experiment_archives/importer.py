"""Import the archive of an experiment: its runs by `runs.importing`, then what belongs to the experiment as a whole.

To repeat an import creates nothing again. Names of runs are the uids of the exporting site, and lead only to runs that
this import, or an earlier one into the same experiment, created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction
from django.http import QueryDict
from django.utils import timezone

from esweb.experiment_archives.archive_reader import BadArchive, ExperimentArchive, open_archive
from esweb.experiment_archives.document import ExperimentFacts, LabelSetFacts, SweepFacts, TournamentFacts, ViewFacts
from judging.exchange import JUDGMENTS, import_tournament
from judging.exchange import MAX_UPLOAD_BYTES as MAX_JUDGMENT_BYTES
from runs.chart_layouts import parse_cards, store_imported_layout
from runs.experiments import SavedViewForm
from runs.flags import CannotChangeThresholds, set_thresholds
from runs.importing import ImportResult, ImportTarget
from runs.ingest.storable import storable
from runs.labels import MAX_UPLOAD_BYTES as MAX_LABEL_BYTES
from runs.labels import CannotImport, import_label_file
from runs.launching.sweeps import store_imported_sweep
from runs.models import Experiment, Import, Run, SavedView
from runs.models.trash import TAG_LENGTH
from workers.config import ConfigError

MAX_NAME, MAX_TAGS = 200, 50
MAX_PARTS = 500
"""Sweeps, views, label sets or tournaments that are imported of one archive."""
ReadRuns = Callable[[ImportTarget], ImportResult]


@dataclass(frozen=True)
class Destination:
    """Target of an archive: the user's experiment of this name, by default the archive's name. is_private: a new one,
    and its tournaments, are visible to their owner alone."""

    person: User
    name: str = ""
    is_private: bool = False


@dataclass
class ArchiveResult:
    """Result of an import: the experiment, what became of its runs, a line for each other part, and what could not be
    imported, with the reason."""

    experiment: Experiment
    is_new: bool
    imported: ImportResult
    parts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def import_experiment(file: BinaryIO, destination: Destination, read_runs: ReadRuns) -> ArchiveResult:
    """Import an archive. read_runs: reads its runs into a target. Raise BadArchive if it is none."""
    with open_archive(file) as archive:
        facts, person = archive.facts, destination.person
        name = storable(destination.name.strip() or facts.name)[:MAX_NAME] or "Imported"
        experiment, is_new = _get_or_create(name, facts, destination)
        target = ImportTarget(person, name, experiment=experiment, is_new=is_new)
        result = ArchiveResult(experiment, is_new, read_runs(target))
        rows = Import.objects.not_deleted().filter(run__experiment=experiment, foreign_uid__in=list(facts.runs))
        runs = {row.foreign_uid: row.run for row in rows.select_related("run__experiment").order_by("-pk")}
        if is_new:
            _archive_runs([runs[uid] for uid in facts.archived_runs if uid in runs], person)
        _Parts(archive, runs, result, destination).import_all()
    return result


def _get_or_create(name: str, facts: ExperimentFacts, destination: Destination) -> tuple[Experiment, bool]:
    with transaction.atomic():
        User.objects.select_for_update().get(pk=destination.person.pk)
        existing = Experiment.objects.filter(owner=destination.person, name=name, deleted_at=None).order_by("pk")
        if (experiment := existing.first()) is not None:
            return experiment, False
        tags = [storable(tag) for tag in facts.tags[:MAX_TAGS] if 0 < len(tag) <= TAG_LENGTH]
        return Experiment.objects.create(
            owner=destination.person, name=name, question=storable(facts.question), note=storable(facts.note),
            tags=tags, is_private=destination.is_private,
        ), True  # fmt: skip


def _archive_runs(runs: Sequence[Run], person: User) -> None:
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(archived_at=timezone.now(), archived_by=person)


class _Parts:
    """The parts of an archive beside its runs."""

    def __init__(
        self, archive: ExperimentArchive, runs: Mapping[str, Run], result: ArchiveResult, destination: Destination
    ) -> None:
        self._archive, self._runs, self._result, self._destination = archive, runs, result, destination
        self._experiment, self._person = result.experiment, destination.person

    def import_all(self) -> None:
        """Import each part by itself: one that cannot be imported is reported, and leaves the others."""
        facts = self._archive.facts
        for uid in facts.runs:
            if uid not in self._runs:
                self._result.problems.append(f"run {storable(uid)[:20]}: its folder is missing or holds no records")
        for sweep in facts.sweeps[:MAX_PARTS]:
            with self._reported(f"sweep {sweep.name}"):
                self._import_sweep(sweep)
        for view in facts.views[:MAX_PARTS]:
            with self._reported(f"view {view.name}"):
                self._import_view(view)
        with self._reported("layout of the charts"):
            self._import_layout(facts.layout)
        if self._result.is_new and facts.thresholds:
            with self._reported("thresholds of the flags"):
                set_thresholds(self._experiment, facts.thresholds, self._person)
        for labels in facts.label_sets[:MAX_PARTS]:
            with self._reported(f"label set {labels.name}"):
                self._import_labels(labels)
        for tournament in facts.tournaments[:MAX_PARTS]:
            with self._reported(f"tournament {tournament.name}"):
                self._import_tournament(tournament)

    @contextmanager
    def _reported(self, part: str) -> Iterator[None]:
        try:
            with transaction.atomic():
                yield
        except ConfigError as error:
            self._fail(part, "; ".join(map(str, error.problems[:3])))
        except (BadArchive, CannotImport, CannotChangeThresholds, IntegrityError, DataError, ValueError) as error:
            self._fail(part, str(error))

    def _fail(self, part: str, reason: str) -> None:
        self._result.problems.append(storable(f"{part[:MAX_NAME]}: not imported: {reason}")[:600])

    def _import_sweep(self, facts: SweepFacts) -> None:
        runs = [self._runs[uid] for uid in facts.runs if uid in self._runs]
        is_created = store_imported_sweep(
            self._experiment, self._person, runs, name=storable(facts.name), preset=storable(facts.preset),
            base=facts.base, grid=facts.grid, cells=list(facts.cells), seeds=list(facts.seeds), at_once=facts.at_once,
            is_paused=facts.is_paused, is_cancelled=facts.is_cancelled,
        )  # fmt: skip
        if is_created:
            self._result.parts.append(f"Sweep {facts.name}: {len(runs)} runs.")

    def _import_view(self, facts: ViewFacts) -> None:
        if SavedView.objects.filter(owner=self._person, name=facts.name).exists():
            return
        query = facts.query
        for uid, run in self._runs.items():
            query = query.replace(uid, run.uid)
        data = QueryDict(mutable=True)
        data.update({"name": facts.name, "page": "experiment", "experiment": str(self._experiment.pk), "query": query})
        if facts.is_shared:
            data["is_shared"] = "on"
        form = SavedViewForm(data, self._person)
        if not form.is_valid():
            raise ValueError("; ".join(str(text) for texts in form.errors.values() for text in texts))
        SavedView.objects.create(owner=self._person, **form.cleaned_data)
        self._result.parts.append(f"Saved view {facts.name}.")

    def _import_layout(self, texts: Sequence[str]) -> None:
        cards, problems = parse_cards(texts)
        if problems:
            raise ValueError("; ".join(problems[:3]))
        if cards and store_imported_layout(self._person, self._experiment, cards):
            self._result.parts.append("Layout of the charts.")

    def _import_labels(self, facts: LabelSetFacts) -> None:
        name = storable(facts.name)[:MAX_NAME] or "Imported"
        with self._archive.open(facts.file, MAX_LABEL_BYTES) as file:
            report = import_label_file(self._experiment, self._person, file, name, facts.readers)
        left_out = f" {facts.unlabelled} responses without a label are left out." if facts.unlabelled else ""
        self._result.parts.append(f"Label set {name}: {report.sentence}{left_out}")
        self._result.problems += [f"label set {name}, {problem}" for problem in report.problems[:20]]

    def _import_tournament(self, facts: TournamentFacts) -> None:
        if not facts.has_judgments:
            raise ValueError("it was open when it was exported, and its votes were not exported")
        runs = {name: self._runs[uid] for name, uid in facts.contestants.items() if uid in self._runs}
        is_private = facts.is_private or self._experiment.is_private
        with self._archive.open(f"{facts.folder}/{JUDGMENTS}", MAX_JUDGMENT_BYTES) as file:
            report = import_tournament(self._person, storable(facts.name), file, runs, is_private=is_private)
        self._result.parts.append(f"Tournament {facts.name}: {report.sentence}")
