"""A task of a user's own is launched only where a folder is allowed for it, and where its file is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.test import Client

from runs import launching
from runs.launching.submit import spec_of
from runs.models import Cluster, Experiment, Run
from tests.runs.api_client import calls, paths
from tests.runs.launching.test_config_form import sent
from workers.config import ConfigError, RunConfig, preset

CONFIG = preset("es-micro").config | {"task": {"name": "own", "options": {"path": "my_task:Task"}}}
TYPED = {"task.name": "own", "task.own.path": "my_task:Task"}


@pytest.fixture
def folder(local: Cluster, tmp_path: Path) -> Path:
    """Return a folder of own tasks that is allowed on this machine."""
    local.config = {"task_paths": [str(tmp_path)]}
    local.save()
    return tmp_path


def launch_run(experiment: Experiment) -> Run:
    return launching.create_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(CONFIG))


def refused(experiment: Experiment) -> str:
    with pytest.raises(ConfigError) as error:
        launch_run(experiment)
    assert [p.path for p in error.value.problems] == ["task.options.path"]
    assert not Run.objects.exists()
    return error.value.problems[0].message


def test_job_receives_the_task_folders(experiment: Experiment, folder: Path, local: Cluster) -> None:
    (folder / "my_task.py").write_text("")
    local.config["task_paths"].append("/srv/tasks")
    local.save()
    attempt = launch_run(experiment).newest_attempt()
    assert attempt is not None
    env = spec_of(attempt).env
    assert env is not None and env["ESWEB_TASK_PATHS"] == os.pathsep.join([str(folder), "/srv/tasks"])


def test_without_an_allowed_folder_it_is_refused(experiment: Experiment, local: Cluster) -> None:
    assert "cluster local does not allow custom tasks, and no other does" in refused(experiment)


def test_clusters_that_allow_one_are_named(experiment: Experiment, local: Cluster) -> None:
    Cluster.objects.create(name="big", kind="local", config={"task_paths": ["/srv/tasks"]})
    assert "these do: big" in refused(experiment)


def test_a_module_that_is_not_there_is_answered_with_those_that_are(experiment: Experiment, folder: Path) -> None:
    (folder / "rhymes.py").write_text("")
    assert f"there is no module my_task in {folder}; the modules there are rhymes" in refused(experiment)


def test_looking_for_it_runs_nothing(experiment: Experiment, folder: Path) -> None:
    (folder / "my_task.py").write_text("raise SystemExit('this must not run here')")
    assert launch_run(experiment).config["task"]["options"] == {"path": "my_task:Task", "options": {}}


def test_form_reports_an_invalid_task_at_its_field(ada_client: Client, experiment: Experiment, local: Cluster) -> None:
    answer = ada_client.post(f"/experiments/{experiment.pk}/launch/", sent("es-micro", **TYPED))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'id="id_task.own.path_error"' in page
    assert "does not allow custom tasks" in page
    assert not Run.objects.exists()


def test_api_reports_an_invalid_task_with_its_path(experiment: Experiment, local: Cluster) -> None:
    api = calls(experiment.owner, "launch")
    body = {"experiment": experiment.pk, "config": CONFIG}
    answer = api.post("/api/v1/runs", body, content_type="application/json")
    assert answer.status_code == 422
    assert "does not allow custom tasks" in paths(answer)["task.options.path"]


def test_the_form_hides_the_options_of_other_tasks(ada_client: Client, experiment: Experiment) -> None:
    page = ada_client.get(f"/experiments/{experiment.pk}/launch/").content.decode()
    for task in ("conciseness", "countdown", "own"):
        assert f'data-tasks="{task}"' in page
