"""Exit codes of jobs on a real Ray become states of their attempts, and no secret reaches a job."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runs import launching
from runs.models import Experiment
from tests.clusters.ray import RayHead
from tests.clusters.scripted_ray import ScriptedRay
from tests.clusters.scripted_slurm import launch_run, wait_until_ended
from tests.runs.local_cluster import attempt_of, tick_until
from workers.executors.states import State

pytestmark = pytest.mark.soak

SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ)))"
KILLS_ITSELF = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
ENDS = [
    (0, SHOWS_ENV, State.SUCCEEDED, "done"),
    (2, f"{SHOWS_ENV}; raise SystemExit(75)", State.INTERRUPTED, "was stopped and saved a checkpoint"),
    (0, KILLS_ITSELF, State.FAILED, "killed by signal 11 (SIGSEGV)"),
]
"""GPUs of a job, its program, and the state and reason of its attempt."""
BARE = str(Path(sys.base_prefix) / "bin" / "python3")
"""An interpreter in which esweb is not installed."""
FINAL = [state.value for state in State if state.is_final]


def test_exit_codes_are_reported_and_secrets_withheld(
    experiment: Experiment, ray_executor: ScriptedRay, ray: RayHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    runs = []
    for gpus, program, _, _ in ENDS:
        ray_executor.program = program
        runs.append(launch_run(experiment, gpus=gpus))
        launching.submit_job(attempt_of(runs[-1]))
    for run, (_, _, state, reason) in zip(runs, ENDS, strict=True):
        ended = wait_until_ended(run, *FINAL)
        assert (ended.state, ended.reason, ended.native_id) == (state.value, reason, ended.key)
    environments = [(attempt_of(run).directory / "env").read_text() for run in runs[:2]]
    assert "'CUDA_VISIBLE_DEVICES': ''" in environments[0] and "'CUDA_VISIBLE_DEVICES': '0,1'" in environments[1]
    assert not [env for env in environments if "sown-in" in env or "DJANGO_SECRET" in env]
    assert "sown-in" not in str(ray.ask("GET", "/api/jobs/"))
    for file in attempt_of(runs[0]).directory.rglob("*"):
        assert not file.is_file() or b"sown-in" not in file.read_bytes()


def test_reason_names_missing_agent_code(experiment: Experiment, ray_executor: ScriptedRay) -> None:
    ray_executor.site = replace(ray_executor.site, python=BARE, project="/opt/none")
    ended = tick_until(launch_run(experiment), *FINAL)
    assert ended.state == State.FAILED.value
    assert ended.reason.startswith("the node cannot access esweb's code: see project in the cluster's config")
    assert "(Ray's log: " in ended.reason
