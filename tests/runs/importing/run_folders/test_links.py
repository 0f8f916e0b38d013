"""Runs that a folder names are looked up among the user's own imports from folders, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Experiment, Run
from tests.runs.importing.run_folders.folders import DONE, UID, es_records, import_path, write_attempt
from workers.config import RunConfig
from workers.records import Environment, Metric, Probe, ProbeValue

pytestmark = pytest.mark.usefixtures("runs_dir")
OTHER = "zzzzz99999"


def evaluation(**section: Any) -> dict[str, Any]:
    return RunConfig.from_json({"method": "evaluate", "evaluate": section}).to_json()


def write_evaluation(root: Path, config: dict[str, Any], uid: str = OTHER) -> Path:
    folder = root / uid / f"esweb-{uid}-a1"
    write_attempt(folder, [Environment(uid, "", ""), Metric(3, {"reward/mean": 1.0}), DONE])
    (folder / "run.json").write_text(json.dumps(config))
    return folder.parent


def test_uid_of_somebodys_run_links_to_nothing(ada: User, bo: User, tmp_path: Path) -> None:
    """A run of this site has the uid that a folder names, and so has a run that another user imported."""
    experiment = Experiment.objects.create(owner=bo, name="Mine")
    Run.objects.create(experiment=experiment, uid=UID, name="a", method="es", seed=0, config={}, created_by=bo)
    import_path(write_attempt(tmp_path / UID / f"esweb-{UID}-a1").parent, bo)
    value = ProbeValue(1.0, 1)
    folder = write_evaluation(tmp_path, evaluation(run=f"run:{UID}"))
    probe = write_attempt(
        tmp_path / f"esweb-{OTHER[::-1]}-a1",
        [Environment("p", "", ""), Probe(3, "magnitude", "norm", f"{UID}@3", (value,)), DONE],
        **RunConfig.from_json({"method": "probe", "probe": {"runs": [f"run:{UID}"]}}).to_json(), es=None,
    )  # fmt: skip
    evaluated, probed = (import_path(path, ada).new_runs[0] for path in (folder, probe))
    assert (evaluated.method, evaluated.parent, probed.method, probed.parent) == ("evaluate", None, "probe", None)
    assert probed.proberesult_set.get().subject == f"{UID} (elsewhere)@3"
    own = import_path(write_attempt(tmp_path / "mine" / f"esweb-{UID}-a1", es_records("mine")).parent, ada)
    assert {run.pk for run in own.joined} == {evaluated.pk, probed.pk}
    evaluated.refresh_from_db()
    assert evaluated.parent == own.new_runs[0]
    assert probed.proberesult_set.get().subject == f"{own.new_runs[0].uid}@3"


def test_evaluation_of_a_checkpoint_has_its_run_and_step(ada: User, tmp_path: Path) -> None:
    config = evaluation() | {"model": {"path": f"run:{UID}@2", "dtype": "auto", "device": "auto"}}
    evaluated = import_path(write_evaluation(tmp_path, config), ada).new_runs[0]
    training = import_path(write_attempt(tmp_path / f"esweb-{UID}-a1"), ada).new_runs[0]
    evaluated.refresh_from_db()
    assert (evaluated.parent, evaluated.parent_step) == (training, 2)
    assert training.name in evaluated.name


def test_folder_with_the_uid_of_a_run_of_this_site_is_a_run_of_its_own(ada: User, tmp_path: Path) -> None:
    experiment = Experiment.objects.create(owner=ada, name="Folders")
    here = Run.objects.create(experiment=experiment, uid=UID, name="a", method="es", seed=0, config={}, created_by=ada)
    imported = import_path(write_attempt(tmp_path / f"esweb-{UID}-a1"), ada).new_runs[0]
    assert (imported.uid != UID, here.attempts.count(), imported.attempts.get().key) == (
        True, 0, f"esweb-{imported.uid}-a1",
    )  # fmt: skip
    assert not here.root.exists()
