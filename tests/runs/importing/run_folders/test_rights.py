"""What may be done with a run that was imported with its checkpoint and its replay log (decision 68)."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs import checkpoints, launching
from runs.launching import rebuilds
from runs.launching.rebuilds.commands import open_checkpoint
from runs.launching.resources import check_resources
from runs.models import Cluster, Run
from tests.runs.importing.run_folders.folders import config, es_records, import_path, write_attempt, write_checkpoint
from workers.config import ConfigError, RunConfig


@pytest.fixture
def imported(ada: User, settings: Settings, tmp_path: Path) -> Run:
    """Return ada's run of a folder that was stopped after it had saved a checkpoint."""
    settings.RUNS_DIR = tmp_path / "runs"
    folder = tmp_path / "d"
    folder.mkdir()
    records = [*es_records()[:-1], write_checkpoint(folder, 3)]
    changes = {"tracking": {"push_url": "http://10.0.0.1/", "token_file": "/etc/passwd"}, "model": {"path": "/etc"}}
    return import_path(write_attempt(folder, records, code=75, **changes), ada).new_runs[0]


def test_checkpoint_and_log_can_be_downloaded(imported: Run, ada_client: Client) -> None:
    saved = checkpoints.at_step(imported, 3)
    assert saved is not None and sorted(file.name for file in saved.folder.iterdir()) == [
        "config.json",
        "model.safetensors",
    ]
    opened = open_checkpoint(imported, 3)
    assert opened is not None
    opened[0].close()
    assert b"step 2" in ada_client.get(f"/runs/{imported.uid}/log/").content


def test_nobody_resumes_rebuilds_evaluates_or_probes_it(imported: Run, ada: User, local: Cluster) -> None:
    assert imported.state == "interrupted"
    with pytest.raises(launching.CannotResume, match="was imported and is not resumed here"):
        launching.create_resume_attempt(imported, ada)
    with pytest.raises(rebuilds.CannotRebuild, match="only the checkpoints that came with it"):
        rebuilds.rebuild_checkpoint(imported, 2, ada)
    named = f"run:{imported.uid}"
    for data in (
        {"method": "evaluate", "evaluate": {"run": named}},
        {"method": "probe", "probe": {"runs": [named]}},
        config(model={"path": f"{named}@3"}),
    ):
        with pytest.raises(ConfigError, match="that run was imported"):
            check_resources(RunConfig.from_json(data), ada, local)


def test_clone_validates_the_config_as_the_persons_own(
    imported: Run, ada: User, ada_client: Client, local: Cluster
) -> None:
    """The config is stored as it is written; paths in it are refused where somebody launches it."""
    assert imported.config["model"] == {"path": "/etc"}
    page = ada_client.get(f"/experiments/{imported.experiment_id}/launch/?clone={imported.uid}").content.decode()
    assert "tracking.push_url" in page and "es.iterations" in page
    with pytest.raises(ConfigError) as problems:
        check_resources(RunConfig.from_json(imported.config), ada, local)
    assert {problem.path for problem in problems.value.problems} == {
        "model.path", "tracking.push_url", "tracking.token_file",
    }  # fmt: skip
