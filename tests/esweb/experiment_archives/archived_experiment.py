"""An experiment with everything that an archive holds, and imports of archives."""

from __future__ import annotations

import io
from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from esweb.experiment_archives.export import experiment_archive
from esweb.experiment_archives.importer import ArchiveResult, Destination
from esweb.experiment_archives.views import import_upload
from judging.exchange import ExportOptions, export_lines
from judging.models import Tournament
from runs.exporting import Parts, zip_pieces
from runs.flags import set_thresholds
from runs.models import ChartLayout, Experiment, Run, SavedView, Sweep
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs import full_runs
from tests.runs.evaluation_runs import make_evaluation, make_training, record_steps
from tests.runs.labels.label_cases import items_of, label, make_set
from tests.runs.probe_runs import make_probe_run, record_norms
from workers.config import preset


def fill(experiment: Experiment, reader: User) -> Experiment:
    """Add runs of each kind, a sweep, a view, a layout, thresholds, labels and a tournament to the experiment."""
    owner = experiment.owner
    training = make_training(experiment)
    full_runs.record(training, full_runs.a_bit_of_everything())
    record_steps(make_evaluation(experiment, training), {0: [1, 2], 5: [3, 4]})
    record_norms(make_probe_run(experiment, [training]), training)
    base = {name: value for name, value in preset("es-tiny").config.items() if name != "seed"}
    sweep = Sweep.objects.create(
        experiment=experiment, name="σ", base=base, grid={"es.sigma": [0.01]}, seeds=[0], at_once=2, created_by=owner
    )
    Run.objects.filter(pk=training.pk).update(sweep=sweep, cell={"es.sigma": 0.01})
    SavedView.objects.create(
        owner=owner,
        name="best",
        page="experiment",
        experiment=experiment,
        query=f"pin={training.uid}&q=state%3Asucceeded",
    )
    ChartLayout.objects.create(person=owner, page="experiment", experiment=experiment, cards=["kl:wide"])
    set_thresholds(experiment, {}, owner)
    label_set = make_set(experiment)
    for item, verdict in zip(items_of(label_set), ("right", "wrong", "unclear"), strict=False):
        label(item, owner, verdict)
        label(item, reader, "right", note="=1+1")
    tournament = make_tournament(owner, experiment, prompts=4, contestants=3, name="Which?")
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(30, contestants=3, prompts=4)))
    Experiment.objects.filter(pk=experiment.pk).update(question="Which is best?", note="**bold**", tags=["paper"])
    return Experiment.objects.get(pk=experiment.pk)


def archive_bytes(experiment: Experiment, person: User) -> bytes:
    """Return an experiment's archive as this user may see it."""
    return b"".join(zip_pieces(experiment_archive(experiment, Parts(), person)))


def import_bytes(data: bytes, person: User, **destination: Any) -> tuple[ArchiveResult | None, str]:
    """Import an archive as the page does."""
    return import_upload(SimpleUploadedFile("experiment.zip", data), Destination(person, **destination))


def judgments_of(tournament: Tournament) -> list[str]:
    """Return the tournament's judgments as lines of its export."""
    return sorted(export_lines(tournament, ExportOptions()))


def in_memory(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)
