"""Secrets never reach a job, and texts of a config or a run never reach a shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runs import launching
from runs.models import Cluster, Experiment
from tests.clusters.scripted_slurm import OVER_SSH, ScriptedSlurm, cluster_directory, launch_run, wait_until_ended
from tests.clusters.slurm import SlurmCluster
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import python
from workers.executors.base import Rejected, Spec
from workers.executors.slurm import Site
from workers.executors.states import State

pytestmark = pytest.mark.soak

BARE = str(Path(sys.base_prefix) / "bin" / "python3")
"""An interpreter in which esweb is not installed."""
SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ)))"
FIELDS = ("partition", "account", "qos", "constraint", "gpu_type")
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"modules": ("cuda/99",)}, "a module of the cluster's config was not loaded: see modules"),
    ({"python": "/opt/none/python"}, "the interpreter is not on the node: see python in the cluster's config"),
    (
        {"python": BARE, "project": "/opt/none"},
        "the node cannot access esweb's code: see project in the cluster's config",
    ),
)
"""Wrong settings of a site's config, and the reason of the run that fails by them."""


def test_secret_never_reaches_job(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    monkeypatch.setenv("SBATCH_PARTITION", "high")
    monkeypatch.setenv("SBATCH_EXPORT", "ALL")
    slurm_executor.program, slurm_executor.site = SHOWS_ENV, Site(env={"HF_HOME": "/shared/hf"})
    cluster = Cluster.objects.get(name="far")
    cluster.config["partitions"] = ["main", "short"]
    cluster.save()
    ended = wait_until_ended(launch_run(experiment, gpus=1, partition="short"), "succeeded", "failed")
    assert ended.state == State.SUCCEEDED.value
    environment = (cluster_directory(ended) / "env").read_text()
    assert "sown-in" not in environment and "DJANGO_SECRET" not in environment
    assert "'HF_HOME': '/shared/hf'" in environment and "'CUDA_VISIBLE_DEVICES': '" in environment
    assert "'SLURM_JOB_PARTITION': 'short'" in environment
    for file in cluster_directory(ended).rglob("*"):
        assert not file.is_file() or b"sown-in" not in file.read_bytes()
    assert "sown-in" not in slurm.ask("scontrol", "show", "job", ended.native_id)


@pytest.mark.parametrize(
    ("access_config", "fields"), [("here", FIELDS), ("ssh", ("qos",))], ids=["here", "ssh"], indirect=["access_config"]
)
def test_hostile_option_is_refused_and_not_executed(
    slurm_executor: ScriptedSlurm, slurm: SlurmCluster, tmp_path: Path, fields: tuple[str, ...]
) -> None:
    # A text that an administrator's form refuses, as if it had been stored in another way.
    hostile_text = f"main;touch${{IFS}}{tmp_path}/x $(touch {tmp_path}/x)"
    for field in fields:
        executor = ScriptedSlurm(slurm.conf, tmp_path / "queue", slurm_executor.host, **{field: hostile_text})
        spec = Spec(f"esweb-{field}-a1", tmp_path / "runs" / field, tuple(python("pass")), gpus=1)
        try:
            executor.submit(spec)
        except Rejected as error:
            assert "\n" not in str(error), field
        assert not (tmp_path / "x").exists(), field


@OVER_SSH
def test_hostile_modules_and_variables_are_not_executed(
    slurm_executor: ScriptedSlurm, slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    bad = f"$(touch {tmp_path}/x);`touch {tmp_path}/x`"
    slurm_executor.site, slurm_executor.program = replace(slurm_executor.site, env={"NOTE": bad}), SHOWS_ENV
    spec = Spec(f"esweb-{tmp_path.name}-a1", tmp_path / "runs" / "a %j $(touch x) b", tuple(python("pass")))
    directory = Path(slurm_executor.host.cluster_path(spec.directory))
    slurm_executor.submit(spec)
    slurm_executor.site = replace(slurm_executor.site, env={}, modules=(bad,))
    other = Spec(f"esweb-{tmp_path.name}-a2", tmp_path / "runs" / "other", tuple(python("pass")))
    slurm_executor.submit(other)
    wait_until((directory / "exit.json").exists, "the program to end")
    wait_until(
        lambda: (observation := slurm_executor.find(spec.key)) and observation.state == State.SUCCEEDED,
        "the job to succeed",
    )
    environment = (directory / "env").read_text()
    assert repr(bad) in environment and "sown-in" not in environment
    assert (directory / "slurm.log").exists()
    wait_until(
        lambda: (observation := slurm_executor.find(other.key)) and observation.state == State.FAILED, "the job to fail"
    )
    assert not list(tmp_path.rglob("x"))


@pytest.mark.parametrize(
    ("access_config", "wrong"),
    [("here", WRONG), ("ssh", WRONG[:1])],
    ids=["here", "ssh"],
    indirect=["access_config"],
)
def test_wrong_site_config_is_named_in_reason(
    experiment: Experiment, slurm_executor: ScriptedSlurm, wrong: Sequence[tuple[dict[str, Any], str]]
) -> None:
    runs, valid_site = [], slurm_executor.site
    for site, _ in wrong:
        slurm_executor.site = replace(valid_site, **site)
        runs.append(launch_run(experiment))
        launching.submit_job(attempt_of(runs[-1]))
    for run, (_, reason) in zip(runs, wrong, strict=True):
        ended = tick_until(run, "failed", "succeeded")
        assert ended.state == State.FAILED.value and reason in ended.reason and "(slurm.log: " in ended.reason
