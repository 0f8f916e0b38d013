"""The archive of an experiment, imported by another user, gives equal rows of runs, labels and tournaments."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging.models import Tournament
from runs.labels import label_file_lines
from runs.models import ChartLayout, Experiment, Run, SavedView
from tests.esweb.experiment_archives.archived_experiment import archive_bytes, fill, import_bytes, judgments_of
from tests.runs.row_comparison import different_tables

UNENDED = "state: 'created', not 'succeeded'"

pytestmark = pytest.mark.usefixtures("runs_dir")


def test_imported_experiment_equals_the_exported_one(experiment: Experiment, bo: User, cy: User) -> None:
    ada = experiment.owner
    experiment = fill(experiment, cy)
    data = archive_bytes(experiment, ada)
    result, problem = import_bytes(data, bo, name="Copy")
    assert not problem and result is not None and result.is_new and result.problems == []
    copy = result.experiment
    assert (copy.question, copy.note, copy.tags, copy.owner) == ("Which is best?", "**bold**", ["paper"], bo)
    runs, copies = (list(Run.objects.filter(experiment=e).order_by("pk")) for e in (experiment, copy))
    assert [run.name for run in runs] == [run.name for run in copies]
    uids = dict(zip((run.uid for run in runs), (run.uid for run in copies), strict=True))
    for run, twin in zip(runs, copies, strict=True):
        expected = {"ProbeResult"} if run.method == "probe" else set()
        if run.method in ("evaluate", "probe"):
            assert twin.parent is not None and run.parent is not None and twin.parent.uid == uids[run.parent.uid]
        # Responses of a label set that nobody has labelled are left out; labels are compared below.
        # The runs of the tournament have not ended by their own state; what was imported has.
        different = {name: rows for name, rows in different_tables(run, twin).items() if rows != [UNENDED]}
        assert different.keys() - {"LabelItem"} == expected, different
    probe, twin = (e.runs.get(method="probe").proberesult_set.get() for e in (experiment, copy))
    assert twin.values == probe.values and twin.subject == f"{uids[probe.subject[:10]]}@10"
    sweep, twin_sweep = experiment.sweeps.get(), copy.sweeps.get()
    assert all(
        getattr(sweep, name) == getattr(twin_sweep, name) for name in ("name", "base", "grid", "seeds", "at_once")
    )
    assert [run.cell for run in twin_sweep.runs.all()] == [{"es.sigma": 0.01}]
    view = SavedView.objects.get(owner=bo)
    assert view.experiment == copy and f"pin={copies[0].uid}" in view.query
    assert ChartLayout.objects.get(person=bo).cards == ChartLayout.objects.get(person=ada).cards
    labels, twin_labels = (list(label_file_lines(e.label_sets.get(), e.owner)) for e in (experiment, copy))
    assert labels == twin_labels and len(labels) == 7
    assert judgments_of(Tournament.objects.get(owner=ada)) == judgments_of(Tournament.objects.get(owner=bo))
    contestants = Tournament.objects.get(owner=bo).contestants.order_by("place")
    assert all(contestant.run in copies for contestant in contestants)

    again, _ = import_bytes(data, bo, name="Copy")
    assert again is not None and not again.is_new and not again.imported.new_runs and again.problems == []
    assert Run.objects.filter(experiment=copy).count() == len(runs) and Tournament.objects.filter(owner=bo).count() == 1
    assert copy.sweeps.count() == 1 and SavedView.objects.filter(owner=bo).count() == 1
