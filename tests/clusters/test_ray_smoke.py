"""A real Ray in `make check`: its Jobs API, its replies and its jobs are as the fakes have them.

Everything else about a real Ray is part of `make soak PART=clusters`.
"""

from __future__ import annotations

import re

import pytest

from runs import launching
from runs.launching.submit import spec_of
from runs.models import Experiment
from tests.clusters.ray import RayHead
from tests.clusters.ray.head import CPUS, GPUS
from tests.clusters.scripted_ray import ScriptedRay, ray_status
from tests.clusters.scripted_slurm import launch_run, wait_until_ended, wait_until_started
from tests.runs.local_cluster import attempt_of, tick_until
from tests.workers.attempts import AWAITS_SIGNAL, HAS_STARTED
from workers.executors.states import State

SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ))); print('bye'); raise SystemExit(3)"
SAVES = f"""
import signal, sys, time
def stop(number, frame):
    signal.signal(number, signal.SIG_IGN)
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
{HAS_STARTED}
{AWAITS_SIGNAL}
"""
"""A program that saves when it is signalled to stop. Ray signals every process of a job, besides its agent."""


def test_ray_runs_a_job_cancels_another_and_lists_its_nodes(
    experiment: Experiment, ray_executor: ScriptedRay, ray: RayHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    failing, stopping = launch_run(experiment, gpus=0.5), launch_run(experiment)
    for run, program in ((failing, SHOWS_ENV), (stopping, SAVES)):
        ray_executor.program = program
        launching.submit_job(attempt_of(run))
        assert attempt_of(run).state == State.QUEUED.value
    wait_until_started(stopping)
    launching.request_cancel(stopping, experiment.owner)
    cancelled = tick_until(stopping, "cancelled", "failed", "interrupted")
    assert (cancelled.state, cancelled.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    failed = wait_until_ended(failing, "succeeded", "failed", "lost")
    assert (failed.state, failed.reason) == (State.FAILED.value, "ended with exit code 3: bye")
    assert ray_status(ray, failed.key) == "FAILED" and failed.native_id == failed.key
    environment = (failed.directory / "env").read_text()
    assert "sown-in" not in environment and re.search(r"'CUDA_VISIBLE_DEVICES': '[01]'", environment)
    assert "sown-in" not in str(ray.ask("GET", "/api/jobs/"))
    [shape] = ray_executor.node_shapes()
    assert (shape.count, shape.cores, shape.gpus) == (1, CPUS, GPUS)
    # A name is given once: a second submit starts nothing.
    assert ray_executor.find("esweb-other-a1") is None
    assert ray_executor.submit(spec_of(failed)) == failed.key and ray_status(ray, failed.key) == "FAILED"
