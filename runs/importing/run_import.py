"""One import from beginning to end, whoever asks for it: files in, runs out, and what is told about both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import DataError

from runs.importing import relations
from runs.importing.detect_format import KINDS, recognised
from runs.importing.files import File, Refused
from runs.importing.records import ImportReport
from runs.importing.store import ImportTarget, Outcome, keep
from runs.models import Experiment, Run


@dataclass
class Imported:
    """The result of an import lists what became of each file. `refused`: files that are not read, each with the reason.

    `joined`: evaluations that name their training now. `replaced`: means over seeds whose seeds came, and that are in
    the trash now; `told` says whether they agree.
    """

    place: ImportTarget
    outcomes: list[Outcome] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    joined: list[Run] = field(default_factory=list)
    replaced: list[Run] = field(default_factory=list)
    told: ImportReport = field(default_factory=ImportReport)

    @property
    def experiment(self) -> Experiment | None:
        """Return the experiment that holds the runs; None if nothing was created or known."""
        return self.place.experiment

    @property
    def made(self) -> list[Run]:
        """The new runs."""
        return [run for outcome in self.outcomes for run in outcome.made]

    @property
    def went_on(self) -> list[Run]:
        """Runs that were here, and whose file holds more now."""
        return [run for outcome in self.outcomes for run in outcome.went_on]

    @property
    def known(self) -> list[Run]:
        """Runs that were here already, from the same file."""
        return [run for outcome in self.outcomes for run in outcome.known]

    @property
    def read_nothing(self) -> bool:
        """Return whether none of the files held anything that is read here."""
        return not any(outcome.is_understood for outcome in self.outcomes)

    @property
    def sentence(self) -> str:
        """The sum of it."""
        where = f" in {self.experiment.name}" if self.experiment is not None and self.made else ""
        parts = [f"{_count(len(self.made), 'new run')}{where}"]
        parts += [f"{_count(len(self.went_on), 'run')} went on"] if self.went_on else []
        parts += [f"{_count(len(self.known), 'run')} known already, nothing made again"] if self.known else []
        if self.joined:
            parts.append(
                _count(len(self.joined), "evaluation joined its training", "evaluations joined their trainings")
            )
        if self.replaced:
            parts.append(_count(len(self.replaced), "mean gave way to its seeds", "means gave way to their seeds"))
        parts += [f"{_count(len(self.refused), 'file')} not read"] if self.refused else []
        return "; ".join(parts) + "."


def bring_in(files: Iterable[File | Refused], place: ImportTarget) -> Imported:
    """Reads the files and keeps what is in them."""
    imported = Imported(place)
    sources, imported.refused = recognised(files)
    for source in sources:
        try:
            outcome = keep(source, place)
        except OSError as error:
            imported.refused.append(Refused(source.name, f"cannot be read: {error.strerror or error}"))
            continue
        except (DataError, OverflowError, RecursionError) as error:
            imported.refused.append(
                Refused(source.name, f"holds what cannot be kept, so that nothing of it was: {error}")
            )
            continue
        if outcome.is_understood or outcome.told.remarks:
            imported.outcomes.append(outcome)
        else:
            imported.refused.append(Refused(source.name, f"nothing in it is of a kind that is read here ({KINDS})"))
    _relate(imported)
    return imported


def _relate(imported: Imported) -> None:
    changed = {run.experiment_id: run.experiment for run in (*imported.made, *imported.went_on, *imported.known)}
    for experiment in changed.values():
        imported.joined += relations.link_evaluations(experiment)
        imported.replaced += relations.replace_aggregates(experiment, imported.place.person, imported.told)


def told(imported: Imported) -> dict[str, Any]:
    """The same as JSON data, for programs."""
    experiment = imported.experiment
    return {
        "said": imported.sentence,
        "experiment": None if experiment is None else {"id": experiment.pk, "name": experiment.name},
        "made_experiment": imported.place.is_new,
        "files": [_file(outcome) for outcome in imported.outcomes],
        "joined": [_run(run) for run in imported.joined],
        "replaced": [_run(run) for run in imported.replaced],
        "facts": imported.told.facts,
        "disagreements": imported.told.disagreements,
        "not_read": [{"name": one.name, "why": one.why} for one in imported.refused],
    }


def _file(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "kinds": list(outcome.kinds),
        "records": outcome.records,
        "made": [_run(run) for run in outcome.made],
        "went_on": [_run(run) for run in outcome.went_on],
        "known": [_run(run) for run in outcome.known],
        "facts": outcome.told.facts,
        "disagreements": outcome.told.disagreements,
        "not_understood": [{"place": one.place, "why": one.why} for one in outcome.told.remarks],
        "not_understood_more": outcome.told.beyond,
    }


def _run(run: Run) -> dict[str, Any]:
    return {"uid": run.uid, "name": run.name, "state": str(run.state), "url": run.get_absolute_url()}


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or f'{singular}s'}"
