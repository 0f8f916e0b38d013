"""How a job ends on a real Ray is how its attempt ends, and nothing secret has reached it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runs import launch
from runs.models import Experiment
from tests.clusters.far import run_far
from tests.clusters.on_ray import OnRay
from tests.clusters.ray import RayHead
from tests.runs.clusters import attempt_of, tick_until
from workers.executors.states import State

SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ)))"
KILLS_ITSELF = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
ENDS = [
    (SHOWS_ENV, State.SUCCEEDED, "done"),
    ("print('no such prompt'); raise SystemExit(3)", State.FAILED, "ended with exit code 3: no such prompt"),
    ("raise SystemExit(75)", State.INTERRUPTED, "was told to stop and saved a checkpoint"),
    (KILLS_ITSELF, State.FAILED, "killed by signal 11 (SIGSEGV)"),
]
BARE = str(Path(sys.base_prefix) / "bin" / "python3")
"""An interpreter in which esweb is not installed."""
FINAL = [state.value for state in State if state.is_final]


def test_codes_and_signals_are_told_as_they_were_and_no_secret_is_passed_on(
    experiment: Experiment, on_ray: OnRay, ray: RayHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    runs = []
    for program, _, _ in ENDS:
        on_ray.program = program
        runs.append(run_far(experiment))
        launch.submit(attempt_of(runs[-1]))
    on_ray.program = SHOWS_ENV
    with_gpus = run_far(experiment, gpus=2)
    launch.submit(attempt_of(with_gpus))
    for run, (_, state, why) in zip(runs, ENDS, strict=True):
        ended = tick_until(run, *FINAL)
        assert (ended.state, ended.reason, ended.native_id) == (state.value, why, ended.key)
    seen = [(tick_until(run, *FINAL).directory / "env").read_text() for run in (runs[0], with_gpus)]
    assert "'CUDA_VISIBLE_DEVICES': ''" in seen[0] and "'CUDA_VISIBLE_DEVICES': '0,1'" in seen[1]
    assert not [env for env in seen if "sown-in" in env or "DJANGO_SECRET" in env]
    assert "sown-in" not in str(ray.ask("GET", "/api/jobs/"))
    for file in attempt_of(runs[0]).directory.rglob("*"):
        assert not file.is_file() or b"sown-in" not in file.read_bytes()


def test_what_keeps_an_agent_from_beginning_is_named(experiment: Experiment, on_ray: OnRay) -> None:
    expected = {}
    for site, words in (
        ({"python": "/opt/none/python"}, "the node has no such interpreter: see python in the cluster's config"),
        (
            {"python": BARE, "project": "/opt/none"},
            "the node does not see esweb's code: see project in the cluster's config",
        ),
    ):
        on_ray.site = replace(on_ray.site, **site)
        run = run_far(experiment)
        launch.submit(attempt_of(run))
        expected[run] = words
    for run, words in expected.items():
        ended = tick_until(run, *FINAL)
        assert ended.state == State.FAILED.value
        assert ended.reason.startswith(words) and "(Ray's log: " in ended.reason
