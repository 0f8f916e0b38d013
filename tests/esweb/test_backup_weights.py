"""A backup leaves out the checkpoints that replay logs rebuild, says which, and packs what nothing rebuilds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from esweb.backup.archive import Manifest
from esweb.backup.create import _files_of_runs
from esweb.backup.weights import LeftOut, Weights, describe_left_out, left_out
from runs.models import Cluster, Experiment, Run
from tests.runs.launching.storage.saved_weights import es_run, grpo_run

MANIFEST = Manifest("0.1.0", "2026-11-29T06:00:00+00:00", [("runs", "0001_initial")])


@pytest.fixture
def runs(experiment: Experiment, local: Cluster, settings: Settings, tmp_path: Path) -> tuple[Run, Run, Run]:
    """Return an ES run with a rebuilt copy, a GRPO run and an ES run on a model that esweb makes."""
    settings.RUNS_DIR = tmp_path / "files"
    es, grpo, built_in = es_run(experiment), grpo_run(experiment), es_run(experiment)
    (es.root / f"esweb-{es.uid}-r3-abcd" / "step-000003").mkdir(parents=True)
    attempt = built_in.newest_attempt()
    assert attempt is not None
    (attempt.directory / "run.json").write_text(json.dumps({"method": "es", "model": {"path": "tiny"}}))
    return es, grpo, built_in


def names(runs: tuple[Run, ...], weights: Weights, imported: frozenset[str] = frozenset()) -> list[str]:
    """Return the folders that are left out, as the numbers of their run and step, with - for what nothing rebuilds."""
    places = {run.uid: number for number, run in enumerate(runs)}
    jobs = {run.uid: sorted(path.name for path in run.root.iterdir()) for run in runs}
    folders = left_out(runs[0].root.parent, jobs, imported, weights)
    return sorted(
        f"{places[folder.name.split('/')[1]]}@{int(folder.name[-6:])}{'' if folder.can_be_rebuilt else '-'}"
        for folder in folders
    )


def test_weights_are_left_out_as_chosen(runs: tuple[Run, Run, Run]) -> None:
    everything = ["0@2", "0@3", "0@4", "1@2-", "1@4-", "2@2-", "2@4-"]
    assert names(runs, "all") == []
    assert names(runs, "needed") == ["0@2", "0@3", "0@4"]
    assert names(runs, "none") == everything


def test_imported_checkpoints_are_packed(runs: tuple[Run, Run, Run]) -> None:
    assert names(runs, "needed", frozenset({f"esweb-{runs[0].uid}-a1"})) == ["0@3"]


def test_files_of_omitted_folders_are_not_packed(runs: tuple[Run, Run, Run], ada: User) -> None:
    run = runs[0]
    attempt = run.root / f"esweb-{run.uid}-a1"
    (attempt / "checkpoints-readers").mkdir()
    (attempt / "checkpoints-readers" / "step-000004@elsewhere@1").touch()
    omitted = {attempt / "checkpoints" / "step-000004"}

    packed = [
        name.partition("-a1/")[2] for name, _ in _files_of_runs(run.root.parent, {run.uid: [attempt.name]}, omitted)
    ]

    folder = "checkpoints/step-000002"
    assert packed == ["replay.jsonl", f"{folder}/es-state.json", f"{folder}/model.safetensors"]


def test_manifest_and_its_sentences_name_what_is_left_out() -> None:
    folders = [LeftOut("runs/a/b/checkpoints/step-000001", 3 * 10**9, True), LeftOut("runs/a/c", 10**8, False)]
    manifest = replace(MANIFEST, left_out=folders)
    assert Manifest.from_json(manifest.to_json().encode()) == manifest
    rebuilt, lost = describe_left_out(folders)
    assert rebuilt.startswith("1 checkpoint (3 GB) that replay logs rebuild: left out of the archive (--weights all")
    assert lost.startswith("1 checkpoint (0.1 GB) that nothing rebuilds: left out of the archive (--weights needed")
    assert list(describe_left_out([])) == []
