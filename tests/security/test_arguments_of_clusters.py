"""Users' texts never become options of sbatch, ssh or Ray, and are never read by a shell.

A recording program replaces Slurm's commands; esweb runs all of them through it.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import launching
from runs.clusters.settings import config_errors
from runs.launching.submit import prepare, spec_of
from runs.models import Attempt, Cluster
from tests.cases import each_case
from tests.runs.api_client import calls
from workers.executors.openssh.address import Address, BadAddress
from workers.executors.ray.request import request
from workers.executors.ray.site import Site as RaySite

ATTACKS = (
    "--wrap=touch /tmp/owned",
    "-oProxyCommand=touch /tmp/owned",
    "x --wrap=id",
    "$(touch /tmp/owned)",
    "`touch /tmp/owned`",
    "x; touch /tmp/owned",
    "x && touch /tmp/owned",
    "'; touch /tmp/owned; '",
    '"; touch /tmp/owned; "',
    "x\ntouch /tmp/owned",
    "%j-%u",
    "x #SBATCH --uid=0",
)
RECORDER = """\
import json, os, sys
with open(os.path.join(os.path.dirname(__file__), "calls.jsonl"), "a") as file:
    file.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
sys.stdout.write("17\\n" if sys.argv[0].endswith("sbatch") else "")
"""
OPTIONS = (
    "--parsable", "--job-name=", "--chdir=", "--output=", "--comment=esweb", "--open-mode=append", "--no-requeue",
    "--dependency=singleton", "--export=NIL", "--signal=", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=",
    "--mem=", "--time=", "--partition=cpu",
)  # fmt: skip


@pytest.fixture
def slurm(tmp_path: Path, runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return a Slurm cluster whose commands record their arguments."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo"):
        (commands / name).write_text(f"#!{sys.executable}\n{RECORDER}")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:/usr/bin:/bin")
    return Cluster.objects.create(name="big", kind="slurm", config={"partition": "cpu"})


def launch_attack(ada: User) -> Attempt:
    """Return the attempt of a run with all attacks in every free text."""
    attack = "\n".join(ATTACKS)
    script = calls(ada)
    experiment = script.post(
        "/api/v1/experiments", {"name": attack[:200], "question": attack}, content_type="application/json"
    )
    assert experiment.status_code == 201
    config: dict[str, Any] = {
        "compute": {"cluster": "big", "memory_mb": 100, "time_limit_seconds": 60},
        "task": {"name": "conciseness", "options": {"system_prompt": attack}},
    }
    body = {"experiment": experiment.json()["id"], "preset": "es-micro", "name": attack[:200], "config": config}
    run = script.post("/api/v1/runs", body, content_type="application/json")
    assert run.status_code == 201, run.content
    address = f"/api/v1/runs/{run.json()['uid']}"
    assert script.patch(address, {"note": attack}, content_type="application/json").status_code == 200
    return Attempt.objects.get(run__uid=run.json()["uid"])


def test_launch_texts_are_no_slurm_arguments(ada: User, slurm: Cluster, tmp_path: Path) -> None:
    attempt = launch_attack(ada)
    assert launching.submit_job(attempt), Attempt.objects.get(pk=attempt.pk).reason
    recorded = (tmp_path / "commands" / "calls.jsonl").read_text()
    assert '"sbatch"' in recorded and not any(attack in recorded for attack in (*ATTACKS, "owned"))
    argv = next(call for call in map(json.loads, recorded.splitlines()) if call[0] == "sbatch")
    options, rest = argv[1 : argv.index("--")], argv[argv.index("--") + 1 :]
    assert all(option.startswith(OPTIONS) for option in options[:-1]), options
    assert options[-1] == str(attempt.directory / "job.sh") and rest[0] == "/usr/bin/env"
    assert not Path("/tmp/owned").exists()


@each_case("attack", ATTACKS)
def test_hostile_names_of_resources_are_refused(attack: str, ada: User, slurm: Cluster) -> None:
    hostile_type = {"cluster": "big", "gpus": 1, "gpu_type": attack}
    for compute in ({"cluster": attack}, {"cluster": "big", "partition": attack}, hostile_type):
        body = {"experiment_name": "E", "preset": "es-micro", "config": {"compute": compute}}
        assert calls(ada).post("/api/v1/runs", body, content_type="application/json").status_code == 422
    assert not Attempt.objects.exists()


def test_launch_texts_are_not_read_by_ray_shell(ada: User, slurm: Cluster) -> None:
    attempt = launch_attack(ada)
    prepare(attempt)
    body = request(RaySite("http://127.0.0.1:8265"), spec_of(attempt))
    assert "owned" not in str(body)
    arguments = shlex.split(body["entrypoint"])
    assert arguments[:2] == ["exec", "/usr/bin/env"] and arguments[-1] == str(attempt.directory)


@each_case("attack", [attack for attack in ATTACKS if attack != "%j-%u"])
@each_case("key", ["partition", "account", "qos", "constraint", "gpu_type"])
def test_cluster_config_refuses_attacks(key: str, attack: str) -> None:
    assert any(key in complaint for complaint in config_errors({key: attack}, "slurm"))
    assert any("modules" in complaint for complaint in config_errors({"modules": [attack]}, "slurm"))
    assert any("partitions" in complaint for complaint in config_errors({"partitions": [attack]}, "slurm"))


@each_case("attack", ATTACKS)
def test_ssh_address_like_option_is_refused(attack: str) -> None:
    for text in (attack, f"ssh://{attack}", f"ssh://{attack}@host", f"ssh://user@{attack}:22"):
        with pytest.raises(BadAddress):
            Address.parse(text)
    assert any(
        "address" in complaint
        for complaint in config_errors({"address": attack, "folder": "/x", "python": "/p"}, "slurm")
    )
