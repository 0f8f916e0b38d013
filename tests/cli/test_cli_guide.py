"""What the guide and a run's page tell people to type, typed: each command does what is said of it."""

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

from esweb.cli import errors
from esweb.cli.arguments import HELPS
from runs.models import Attempt, Cluster, Experiment, Run, Sweep
from runs.run_page.config import esweb_command
from tests.cli.conftest import Say
from tests.runs.full_runs import a_bit_of_everything, make_run, record

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
TYPED = GUIDE.partition("```sh\n")[2].partition("```")[0].splitlines()
HELD = {"hold": {}, "release": {"hold": "person"}, "move": {}}
"""How a run stands that a command of the queue is for: created, and with these fields."""
STATE_FOR = {"watch": "succeeded", "export": "succeeded", "cancel": "running", "resume": "interrupted"}


@pytest.fixture
def runs(token: str, local: Cluster, experiment: Experiment, runs_dir: Path) -> dict[str, Run]:
    """A run in each state that a command of the guide is for."""
    made = {state: make_run(experiment, "es-micro", n, state) for n, state in enumerate(set(STATE_FOR.values()))}
    for run in made.values():
        record(run, a_bit_of_everything())
    return made


def test_every_command_of_the_guide_does_what_it_says(
    say: Say, token: str, runs: dict[str, Run], live_server: LiveServer, experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    Cluster.objects.create(name="gpus", kind="slurm")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ESWEB_TOKEN")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{token}\n"))
    typed = []
    for line in TYPED:
        _, command, *arguments = shlex.split(
            line.partition(" >")[0].replace("https://esweb.example", live_server.url), True
        )
        uid = runs[STATE_FOR[command]].uid if command in STATE_FOR else ""
        if command in HELD:
            uid = make_run(experiment, "es-micro", state="created").uid
            Attempt.objects.filter(run__uid=uid).update(**HELD[command])
        there = {"k3m9x2p7qa": uid, "7": str(Sweep.objects.values_list("pk", flat=True).first())}
        code, out, err = say(command, *(there.get(argument, argument) for argument in arguments))
        assert (code, err) == (0, ""), line
        assert out or "--out" in line, line
        typed.append(command)
    assert set(typed) == set(HELPS) - {"completion"}
    assert (tmp_path / "answers.jsonl").stat().st_size > 0


def test_the_guide_names_every_exit_code() -> None:
    named = [int(code) for code in re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE)]
    codes = [value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)]
    assert sorted(named) == sorted([0, 130, *codes])


def test_what_a_runs_page_offers_to_copy_launches_the_same_again(token: str, runs: dict[str, Run], ada: User) -> None:
    program = f'esweb() {{ "{sys.executable}" -m esweb.cli "$@"; }}\n'
    command = program + esweb_command(runs["succeeded"])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(["/bin/sh", "-c", command], env=environment, capture_output=True, text=True, check=True)
    again = Run.objects.get(uid=said.stdout.split()[0])
    first = runs["succeeded"]
    assert (again.config, again.preset, again.name) == (first.config, first.preset, first.name)
    assert again.experiment_id == first.experiment_id
