"""The commands that a run's page offers to copy, run in a real shell with stand-ins for their programs."""

import json
import subprocess

import pytest

from runs.models import Run
from runs.run_page.config import esweb_command, launch_command, train_command
from tests.runs.api_client import calls
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db
ADDRESS = "https://example.org/api/v1/runs"


@pytest.fixture
def run(experiment):
    run = make_run(experiment, seed=3)
    run.name = "it's $(touch pwned) `x` END_OF_CONFIG\\"
    run.config["model"]["path"] = "a 'quoted' \"path\" $HOME ä"
    run.save()
    return run


def run_pasted(command, tmp_path, program):
    """Run a command with a stand-in for one program, which stores its arguments and its input."""
    stand_in = tmp_path / "bin" / program
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > arguments\ncat > stdin\n')
    stand_in.chmod(0o755)
    environment = {"PATH": f"{stand_in.parent}:/usr/bin:/bin", "ESWEB_TOKEN": "secret"}
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, check=True)
    return (tmp_path / "arguments").read_text().splitlines(), (tmp_path / "stdin").read_text()


def test_the_command_writes_the_very_config_and_trains_from_it(run, tmp_path):
    arguments, _ = run_pasted(train_command(run), tmp_path, "python")
    assert arguments == ["-m", "workers.train", "run.json", "--out", run.uid]
    assert json.loads((tmp_path / "run.json").read_text()) == run.config
    assert not (tmp_path / "pwned").exists()


def test_curl_sends_what_launches_the_same_config_again(run, tmp_path, ada, local):
    run.config["model"]["path"] = "tiny"
    arguments, body = run_pasted(launch_command(run, ADDRESS), tmp_path, "curl")
    assert ADDRESS in arguments and "Authorization: Bearer secret" in arguments
    answer = calls(ada, "launch").post("/api/v1/runs", json.loads(body), content_type="application/json")
    assert answer.status_code == 201, answer.content
    again = Run.objects.get(uid=answer.json()["uid"])
    assert (again.config, again.preset, again.name) == (run.config, run.preset, run.name)


def test_the_command_line_is_given_the_very_config_preset_and_name(run, tmp_path):
    arguments, config = run_pasted(esweb_command(run), tmp_path, "esweb")
    where = ["launch", str(run.experiment_id), "--preset", "es-tiny", f"--name={run.name}", "--config", "-"]
    assert (arguments, json.loads(config)) == (where, run.config)
    assert not (tmp_path / "pwned").exists()
