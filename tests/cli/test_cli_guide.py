"""The commands that the guide and a run's page show, executed: each does what the text says."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from esweb_client.cli import errors
from esweb_client.cli.arguments import HELPS
from judging import boards
from judging.models import Tournament
from judging.stats.votes import Outcome
from runs import access
from runs.clusters.connection_test import advance_tests
from runs.models import Attempt, Cluster, Experiment, Run, Sweep
from runs.run_page.config import esweb_command
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.cli.background import repeating
from tests.cli.conftest import RunCli
from tests.cli.run_files import save_checkpoint, write_log
from tests.fakes.judge_server import JudgeServer
from tests.judging.bulk_verdicts import add_judge_verdicts
from tests.judging.judge_factory import make_judge
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.runs.importing.sample_logs import HEADER, iteration

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
BLOCK = GUIDE.partition("```sh\n")[2].partition("```")[0]
TYPED = [line for line in BLOCK.splitlines() if line.startswith("esweb ")]
QUEUE_FIELDS = {"hold": {}, "release": {"hold": "person"}, "move": {}}
"""Fields of an attempt in state created, by the command of the queue that needs it."""
STATE_FOR = {
    **dict.fromkeys(("clone", "rename", "watch", "logs", "export", "download", "score", "rm"), "succeeded"),
    "cancel": "running",
    "resume": "interrupted",
}


@pytest.fixture
def runs(token: str, local: Cluster, experiment: Experiment, runs_dir: Path) -> dict[str, Run]:
    """Return a run in each state that a command of the guide needs."""
    created_runs = {
        state: make_run(experiment, "es-micro", n, state) for n, state in enumerate(set(STATE_FOR.values()))
    }
    for run in created_runs.values():
        record(run, a_bit_of_everything())
    write_log(created_runs["succeeded"], "started\ndone\n")
    save_checkpoint(created_runs["succeeded"], 5)
    return created_runs


@pytest.fixture
def admin_token(token: str, ada: User) -> str:
    """Return a token of scope admin of Ada's, who is an admin: some commands of the guide need one."""
    access.give_role(ada, "admin")
    return access.issue(ada, "admin")[1]


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Iterator[Tournament]:
    """Yield a tournament with a leaderboard, and let Ada have a judge and a scorer."""
    commands.register(ada, Registration("scorer", "beaver", "0123456789", "http://127.0.0.1:9"))
    tournament = make_tournament(ada, experiment, contestants=2)
    add_judge_verdicts(tournament, rubric("helpfulness"), Outcome.A)
    assert boards.compute_due_boards() >= 1
    with JudgeServer() as server:
        make_judge(server, ada, name="gpt")
        yield tournament


def test_guide_commands_succeed(
    run_cli: RunCli, admin_token: str, runs: dict[str, Run], tournament: Tournament, asgi_server: str,
    experiment: Experiment, local: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Settings,
) -> None:  # fmt: skip
    settings.DATA_DIR = tmp_path
    (tmp_path / "es_seed0.log").write_text(HEADER.format(seed=0) + "".join(map(iteration, (1, 2))))
    (tmp_path / "esweb-runs").mkdir()
    (tmp_path / "run.json").write_text('{"task": {"name": "countdown"}}')
    Cluster.objects.create(name="gpus", kind="slurm")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ESWEB_TOKEN")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{admin_token}\n"))
    executed = []
    for line in TYPED:
        _, command, *arguments = shlex.split(
            line.partition(" >")[0].replace("https://esweb.example", asgi_server), True
        )
        uid = runs[STATE_FOR[command]].uid if command in STATE_FOR else ""
        if command in QUEUE_FIELDS:
            uid = make_run(experiment, "es-micro", state="created").uid
            Attempt.objects.filter(run__uid=uid).update(**QUEUE_FIELDS[command])
        replacements = {"k3m9x2p7qa": uid}
        if command in ("sweeps", "judge"):
            replacements |= {"7": str(Sweep.objects.values_list("pk", flat=True).first()), "5": str(tournament.pk)}
        with repeating(lambda: advance_tests(local)) if command == "cluster" else nullcontext():
            code, out, err = run_cli(command, *(replacements.get(argument, argument) for argument in arguments))
        assert (code, err) == (0, ""), line
        assert out or "--out" in line, line
        executed.append(command)
    assert set(executed) == set(HELPS) - {"completion"}
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
