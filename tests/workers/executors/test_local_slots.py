"""Cores and GPUs are assigned in order, and a waiting job has a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.workers.attempts import RUNS_LONG
from workers.executors.base import Rejected, Spec
from workers.executors.local import Local
from workers.executors.states import State
from workers.gpus import Card

Job = Callable[..., Spec]
UNTIL_RELEASED = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)"


def _state(machine: Local, key: str) -> State:
    seen = machine.poll([key])[key]
    assert seen is not None
    return seen.state


def test_third_job_waits_with_reason_until_a_core_is_free(machine: Local, job: Job) -> None:
    jobs = [job(key, UNTIL_RELEASED) for key in ("a", "b", "c")]
    for spec in jobs:
        machine.submit(spec)
    seen = machine.poll(["a", "b", "c"])
    assert [o and o.state for o in seen.values()] == [State.RUNNING, State.RUNNING, State.QUEUED]
    assert seen["c"] and seen["c"].reason == "waiting for a core: 2 of 2 in use by 2 jobs"
    (jobs[0].directory / "go").touch()
    wait_until(lambda: _state(machine, "c") == State.RUNNING, "the job c to get the core of a")
    assert _state(machine, "a") == State.SUCCEEDED


def test_wide_job_at_head_of_queue_is_not_overtaken(machine: Local, job: Job) -> None:
    machine.submit(job("narrow", UNTIL_RELEASED))
    machine.submit(job("wide", RUNS_LONG, cores=2))
    machine.submit(job("late", RUNS_LONG))
    seen = machine.poll(["wide", "late"])
    assert seen["wide"] and seen["wide"].reason == "waiting for 2 cores: 1 of 2 in use by 1 job"
    assert seen["late"] and seen["late"].reason.endswith("1 ahead in the queue")


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        ({"cores": 3}, "requests 3 cores; this machine offers runs 2"),
        ({"nodes": 2}, "requests 2 nodes; this machine is one"),
    ],
)
def test_job_that_never_fits_is_rejected(machine: Local, job: Job, needs: dict[str, int], reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        machine.submit(job("big", RUNS_LONG, **needs))
    assert machine.find("big") is None


def test_invalid_key_is_rejected(machine: Local, job: Job) -> None:
    with pytest.raises(Rejected, match="not a valid key"):
        machine.submit(replace(job("fine", RUNS_LONG), key="../outside"))


def test_a_waiting_job_fails_when_the_machine_is_made_smaller(machine: Local, job: Job, tmp_path: Path) -> None:
    machine.submit(job("holds", UNTIL_RELEASED, cores=2))
    machine.submit(job("wide", RUNS_LONG, cores=2))
    smaller = Local(tmp_path / "queue", cores=1)
    seen = smaller.poll(["wide"])["wide"]
    assert seen and seen.state == State.FAILED and "requests 2 cores" in seen.reason


def test_each_gpu_runs_one_job(tmp_path: Path, job: Job) -> None:
    machine = Local(tmp_path / "queue", cores=4, gpus=(Card("0", 0), Card("1", 1)), beat_seconds=0.02)
    code = "import os; print('sees', repr(os.environ['CUDA_VISIBLE_DEVICES']), flush=True)\n" + UNTIL_RELEASED
    jobs = [job("a", code, gpus=1), job("b", code, gpus=1), job("cpu", code), job("c", code, gpus=1)]
    for spec in jobs:
        machine.submit(spec)
    waits = machine.poll(["c"])["c"]
    assert waits and waits.reason == "waiting for 1 GPU: 2 of 2 in use"
    logs = {spec.key: spec.directory / "log.txt" for spec in jobs}
    for key, devices in (("a", "'0'"), ("b", "'1'"), ("cpu", "''")):
        wait_until(
            lambda key=key, devices=devices: f"sees {devices}" in logs[key].read_text(),
            f"the job {key} to print its GPUs",
        )
    (jobs[1].directory / "go").touch()
    wait_until(
        lambda: machine.poll(["c"]) and logs["c"].exists() and "sees '1'" in logs["c"].read_text(),
        "the job c to print the GPU that b gave up",
    )
    machine.interrupt(1.0)


def test_a_job_gets_its_threads_and_none_of_our_secrets(
    machine: Local, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "hush")
    monkeypatch.setenv("DATABASE_URL", "postgres://hush")
    spec = job("a", "import json, os; print(json.dumps(dict(os.environ)))", cores=2, env={"ESWEB_CACHE": "/cache"})
    machine.submit(spec)
    wait_until(lambda: _state(machine, "a") == State.SUCCEEDED, "the job to succeed")
    log = (spec.directory / "log.txt").read_text()
    assert '"OMP_NUM_THREADS": "2"' in log and '"ESWEB_CACHE": "/cache"' in log
    assert "hush" not in log and "hush" not in (spec.directory / "spec.json").read_text()
