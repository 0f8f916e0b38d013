"""Run one import from beginning to end, for page, API and command line: read files, save runs, report on both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from django.db import DataError

from runs.importing import relations
from runs.importing.detect_format import recognise_sources
from runs.importing.files import File, RefusedFile
from runs.importing.records import ImportReport, Refusal
from runs.importing.run_folders.assemble import KIND, RunFolder
from runs.importing.run_folders.links import link_named_runs
from runs.importing.run_folders.save import save_run_folder
from runs.importing.run_folders.stored import StoredRunFolder
from runs.importing.source_kinds import KINDS
from runs.importing.store import ImportTarget, Outcome, save_source
from runs.importing.stored_sources import ReadableSource
from runs.models import Experiment, Run

FOLDERS = (RunFolder, StoredRunFolder)
AnySource: TypeAlias = ReadableSource | RunFolder | StoredRunFolder


@dataclass
class ImportResult:
    """The result of an import lists what became of each file. `refused`: files that are not read, each with the reason.

    `joined`: evaluations that name their training now. `replaced`: means over seeds that are in the trash now, because
    their seeds were imported; `report` states whether they agree.
    """

    target: ImportTarget
    outcomes: list[Outcome] = field(default_factory=list)
    refused: list[RefusedFile] = field(default_factory=list)
    joined: list[Run] = field(default_factory=list)
    replaced: list[Run] = field(default_factory=list)
    report: ImportReport = field(default_factory=ImportReport)

    @property
    def experiment(self) -> Experiment | None:
        """Return the experiment that holds the runs; None if nothing was created or known."""
        return self.target.experiment

    @property
    def new_runs(self) -> list[Run]:
        """Return the new runs."""
        return [run for outcome in self.outcomes for run in outcome.new_runs]

    @property
    def continued_runs(self) -> list[Run]:
        """Return the runs that existed already and have a file that holds more now."""
        return [run for outcome in self.outcomes for run in outcome.continued_runs]

    @property
    def known_runs(self) -> list[Run]:
        """Return the runs that existed already, from the same file."""
        return [run for outcome in self.outcomes for run in outcome.known_runs]

    @property
    def is_empty(self) -> bool:
        """Return whether none of the files held anything that is read here."""
        return not any(outcome.is_understood for outcome in self.outcomes)

    @property
    def sentence(self) -> str:
        """Return a sentence that sums up the import."""
        where = f" in {self.experiment.name}" if self.experiment is not None and self.new_runs else ""
        parts = [f"{_count(len(self.new_runs), 'new run')}{where}"]
        parts += [f"{_count(len(self.continued_runs), 'run')} continued"] if self.continued_runs else []
        parts += [f"{_count(len(self.known_runs), 'run')} already imported"] if self.known_runs else []
        if self.joined:
            parts.append(
                _count(len(self.joined), "evaluation linked to its training", "evaluations linked to their trainings")
            )
        if self.replaced:
            parts.append(_count(len(self.replaced), "mean replaced by its seeds", "means replaced by their seeds"))
        parts += [f"{_count(len(self.refused), 'file')} not read"] if self.refused else []
        return "; ".join(parts) + "."


def import_runs(files: Iterable[File | RefusedFile], target: ImportTarget) -> ImportResult:
    """Read the files and save their runs."""
    return import_sources(*recognise_sources(files), target)


def import_sources(sources: Iterable[AnySource], refused: list[RefusedFile], target: ImportTarget) -> ImportResult:
    """Save the runs of these sources. `refused`: files that are not read."""
    imported = ImportResult(target, refused=refused)
    for source in sources:
        try:
            outcome = _save(source, target)
        except OSError as error:
            imported.refused.append(RefusedFile(source.name, f"cannot be read: {error.strerror or error}"))
            continue
        except (DataError, OverflowError, RecursionError) as error:
            imported.refused.append(
                RefusedFile(source.name, f"contains data that cannot be stored, so nothing of it was saved: {error}")
            )
            continue
        refusal = outcome.report.refusal or Refusal(f"contains nothing of a supported kind ({KINDS})")
        if outcome.is_understood or (outcome.report.has_problems and not refusal.is_of_a_table):
            imported.outcomes.append(outcome)
        else:
            imported.refused.append(RefusedFile(source.name, refusal.reason, refusal.expected_what, refusal.expected))
    _relate(imported)
    return imported


def _save(source: AnySource, target: ImportTarget) -> Outcome:
    return save_run_folder(source, target) if isinstance(source, FOLDERS) else save_source(source, target)


def _relate(imported: ImportResult) -> None:
    changed = {
        run.experiment_id: run.experiment
        for run in (*imported.new_runs, *imported.continued_runs, *imported.known_runs)
    }
    for experiment in changed.values():
        imported.joined += relations.link_evaluations(experiment)
        imported.replaced += relations.replace_aggregates(experiment, imported.target.person, imported.report)
    if any(KIND in outcome.kinds for outcome in imported.outcomes):
        linked = link_named_runs(imported.target.person)
        names = {run.pk: run.name for run in linked}
        for run in (*imported.new_runs, *imported.continued_runs, *imported.known_runs):
            run.name = names.get(run.pk, run.name)
        imported.joined += linked


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or f'{singular}s'}"
