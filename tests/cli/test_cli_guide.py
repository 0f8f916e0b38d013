"""The commands that the guide and a run's page show, executed: each does what the text says."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from esweb_client.cli import errors
from esweb_client.cli.arguments import HELPS
from runs.models import Attempt, Cluster, Experiment, Run, Sweep
from runs.run_page.config import esweb_command
from tests.cli.conftest import RunCli
from tests.runs.full_runs import a_bit_of_everything, make_run, record

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
TYPED = GUIDE.partition("```sh\n")[2].partition("```")[0].splitlines()
QUEUE_FIELDS = {"hold": {}, "release": {"hold": "person"}, "move": {}}
"""Fields of an attempt in state created, by the command of the queue that needs it."""
STATE_FOR = {"watch": "succeeded", "export": "succeeded", "cancel": "running", "resume": "interrupted"}


@pytest.fixture
def runs(token: str, local: Cluster, experiment: Experiment, runs_dir: Path) -> dict[str, Run]:
    """Return a run in each state that a command of the guide needs."""
    created_runs = {
        state: make_run(experiment, "es-micro", n, state) for n, state in enumerate(set(STATE_FOR.values()))
    }
    for run in created_runs.values():
        record(run, a_bit_of_everything())
    return created_runs


def test_guide_commands_succeed(
    run_cli: RunCli, token: str, runs: dict[str, Run], live_server: LiveServer, experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    Cluster.objects.create(name="gpus", kind="slurm")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ESWEB_TOKEN")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{token}\n"))
    commands = []
    for line in TYPED:
        _, command, *arguments = shlex.split(
            line.partition(" >")[0].replace("https://esweb.example", live_server.url), True
        )
        uid = runs[STATE_FOR[command]].uid if command in STATE_FOR else ""
        if command in QUEUE_FIELDS:
            uid = make_run(experiment, "es-micro", state="created").uid
            Attempt.objects.filter(run__uid=uid).update(**QUEUE_FIELDS[command])
        replacements = {"k3m9x2p7qa": uid, "7": str(Sweep.objects.values_list("pk", flat=True).first())}
        code, out, err = run_cli(command, *(replacements.get(argument, argument) for argument in arguments))
        assert (code, err) == (0, ""), line
        assert out or "--out" in line, line
        commands.append(command)
    assert set(commands) == set(HELPS) - {"completion"}
    assert (tmp_path / "answers.jsonl").stat().st_size > 0


def test_guide_lists_every_exit_code() -> None:
    listed_codes = [int(code) for code in re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE)]
    codes = [value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)]
    assert sorted(listed_codes) == sorted([0, 130, *codes])


def test_command_on_run_page_launches_equal_run(token: str, runs: dict[str, Run], ada: User) -> None:
    program = f'esweb() {{ "{sys.executable}" -m esweb_client.cli "$@"; }}\n'
    command = program + esweb_command(runs["succeeded"])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(["/bin/sh", "-c", command], env=environment, capture_output=True, text=True, check=True)
    second = Run.objects.get(uid=result.stdout.split()[0])
    first = runs["succeeded"]
    assert (second.config, second.preset, second.name) == (first.config, first.preset, first.name)
    assert second.experiment_id == first.experiment_id
