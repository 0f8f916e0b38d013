"""How a job ends on a real Ray is how its attempt ends, and nothing secret has reached it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runs import launching
from runs.models import Experiment
from tests.clusters.far_slurm import await_end, run_far
from tests.clusters.ray import RayHead
from tests.clusters.ray_cluster import OnRay
from tests.runs.local_cluster import attempt_of, tick_until
from workers.executors.states import State

SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ)))"
KILLS_ITSELF = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
ENDS = [
    (0, SHOWS_ENV, State.SUCCEEDED, "done"),
    (2, f"{SHOWS_ENV}; raise SystemExit(75)", State.INTERRUPTED, "was told to stop and saved a checkpoint"),
    (0, KILLS_ITSELF, State.FAILED, "killed by signal 11 (SIGSEGV)"),
]
"""GPUs of a job, its program, and how its attempt ends."""
BARE = str(Path(sys.base_prefix) / "bin" / "python3")
"""An interpreter in which esweb is not installed."""
FINAL = [state.value for state in State if state.is_final]


def test_codes_and_signals_are_told_as_they_were_and_no_secret_is_passed_on(
    experiment: Experiment, on_ray: OnRay, ray: RayHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    runs = []
    for gpus, program, _, _ in ENDS:
        on_ray.program = program
        runs.append(run_far(experiment, gpus=gpus))
        launching.submit_job(attempt_of(runs[-1]))
    for run, (_, _, state, why) in zip(runs, ENDS, strict=True):
        ended = await_end(run, *FINAL)
        assert (ended.state, ended.reason, ended.native_id) == (state.value, why, ended.key)
    seen = [(attempt_of(run).directory / "env").read_text() for run in runs[:2]]
    assert "'CUDA_VISIBLE_DEVICES': ''" in seen[0] and "'CUDA_VISIBLE_DEVICES': '0,1'" in seen[1]
    assert not [env for env in seen if "sown-in" in env or "DJANGO_SECRET" in env]
    assert "sown-in" not in str(ray.ask("GET", "/api/jobs/"))
    for file in attempt_of(runs[0]).directory.rglob("*"):
        assert not file.is_file() or b"sown-in" not in file.read_bytes()


def test_what_keeps_an_agent_from_beginning_is_named(experiment: Experiment, on_ray: OnRay) -> None:
    on_ray.site = replace(on_ray.site, python=BARE, project="/opt/none")
    ended = tick_until(run_far(experiment), *FINAL)
    assert ended.state == State.FAILED.value
    assert ended.reason.startswith("the node does not see esweb's code: see project in the cluster's config")
    assert "(Ray's log: " in ended.reason
