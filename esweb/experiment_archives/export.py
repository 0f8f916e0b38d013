"""Compose the archive of an experiment, as one user may see it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from django.contrib.auth.models import User
from django.utils.text import slugify

from esweb.experiment_archives.document import (
    LABELS,
    RUNS,
    TOURNAMENTS,
    ExperimentFacts,
    LabelSetFacts,
    SweepFacts,
    TournamentFacts,
    ViewFacts,
)
from judging.exchange import ExportedTournament, experiment_tournaments
from runs.exporting import ExportSize, Member, Parts, export_size, run_members, text_members
from runs.labels import label_file_lines, unlabelled_count
from runs.models import ChartLayout, Experiment, FlagThresholds, LabelSet, Run, SavedView, Sweep
from runs.models.attempt_files import EXPERIMENT_FILE
from runs.sharing.redaction import without_secrets


def archive_stem(experiment: Experiment) -> str:
    """Return the name of the archive's file, without its extension."""
    return f"esweb-experiment-{experiment.pk}-{slugify(experiment.name)[:40]}".rstrip("-")


def exported_runs(experiment: Experiment, person: User) -> list[Run]:
    """Return the runs of an experiment that the user may see, archived ones too, in the order of their creation."""
    runs = Run.objects.visible_to(person).filter(experiment=experiment).order_by("pk")
    return list(runs.select_related("source", "external", "sweep", "parent", "created_by"))


def experiment_size(experiment: Experiment, person: User) -> tuple[int, ExportSize]:
    """Return the number of runs, and the sizes of their parts."""
    runs = exported_runs(experiment, person)
    return len(runs), export_size(runs)


def experiment_archive(experiment: Experiment, parts: Parts, person: User) -> Iterator[Member]:
    """Yield all files of an experiment's archive."""
    folder, runs = archive_stem(experiment), exported_runs(experiment, person)
    tournaments = experiment_tournaments(experiment, person)
    label_sets = list(LabelSet.objects.visible_to(person).current().filter(experiment=experiment).order_by("pk"))
    facts = _facts(experiment, person, runs, label_sets, tournaments)
    yield from text_members(folder)
    yield Member(f"{folder}/{EXPERIMENT_FILE}", [json.dumps(facts.to_json(), ensure_ascii=False, indent=1).encode()])
    for number, run in enumerate(runs, 1):
        # Folders are imported in the order of their names, so that the runs keep their order.
        yield from run_members(run, f"{folder}/{RUNS}/{number:05d}-{run.uid}", parts, person)
    for fact, label_set in zip(facts.label_sets, label_sets, strict=True):
        yield Member(f"{folder}/{fact.file}", (line.encode() for line in label_file_lines(label_set, person)))
    for tournament_fact, exported in zip(facts.tournaments, tournaments, strict=True):
        for name, pieces in exported.files():
            yield Member(f"{folder}/{tournament_fact.folder}/{name}", pieces)


def _facts(
    experiment: Experiment,
    person: User,
    runs: Sequence[Run],
    label_sets: Sequence[LabelSet],
    tournaments: Sequence[ExportedTournament],
) -> ExperimentFacts:
    layout = ChartLayout.objects.filter(person=person, page=ChartLayout.Page.EXPERIMENT, experiment=experiment).first()
    thresholds = FlagThresholds.objects.filter(experiment=experiment).first()
    views = SavedView.objects.visible_to(person).filter(experiment=experiment).order_by("name", "pk")
    return ExperimentFacts(
        name=experiment.name,
        question=experiment.question,
        note=experiment.note,
        tags=tuple(experiment.tags),
        runs=tuple(run.uid for run in runs),
        archived_runs=tuple(run.uid for run in runs if run.archived_at is not None),
        sweeps=tuple(_sweep(sweep, runs) for sweep in experiment.sweeps.order_by("pk")),
        views=tuple(ViewFacts(view.name, view.query, view.is_shared) for view in views),
        layout=tuple(layout.cards) if layout is not None else (),
        thresholds=thresholds.values if thresholds is not None else None,
        label_sets=tuple(
            LabelSetFacts(f"{LABELS}/{n}.csv", row.name, row.readers, unlabelled_count(row, person))
            for n, row in enumerate(label_sets, 1)
        ),
        tournaments=tuple(_tournament(number, row) for number, row in enumerate(tournaments, 1)),
    )


def _sweep(sweep: Sweep, runs: Sequence[Run]) -> SweepFacts:
    return SweepFacts(
        name=sweep.name,
        base=without_secrets(sweep.base),
        seeds=tuple(sweep.seeds),
        at_once=sweep.at_once,
        preset=sweep.preset,
        grid=sweep.grid,
        cells=tuple(sweep.cells),
        is_paused=sweep.paused_at is not None,
        is_cancelled=sweep.cancelled_at is not None,
        runs=tuple(run.uid for run in runs if run.sweep_id == sweep.pk),
    )


def _tournament(number: int, exported: ExportedTournament) -> TournamentFacts:
    row = exported.tournament
    return TournamentFacts(
        f"{TOURNAMENTS}/{number}", row.name, dict(exported.contestants), exported.has_judgments, row.is_private
    )
