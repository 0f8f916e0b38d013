"""A submit creates one job whose program runs once, whichever process dies and whatever Ray replies."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runs import launching
from runs.models import Experiment
from tests.clusters.ray import RayHead
from tests.clusters.scripted_ray import ScriptedRay, ray_status
from tests.clusters.scripted_slurm import BUSY, launch_run, tick_run, wait_until_ended, wait_until_started
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import python
from workers.executors.base import Spec
from workers.executors.states import State

pytestmark = pytest.mark.soak

COUNTS = "open('ran', 'a').write('x'); print('no such prompt'); raise SystemExit(5)"


class Killed(BaseException):
    """Raised to simulate the worker dying at this line."""


def only_once(action: Callable[[], None]) -> Callable[[], None]:
    """Return a function that runs `action` the first time only."""
    remaining = [action]
    return lambda: remaining.pop()() if remaining else None


def die() -> None:
    raise Killed


def test_killed_worker_submits_each_job_once(experiment: Experiment, ray_executor: ScriptedRay) -> None:
    ray_executor.program = COUNTS
    runs = [launch_run(experiment), launch_run(experiment)]
    for run, hook in zip(runs, ("before_submit", "after_submit"), strict=True):
        setattr(ray_executor, hook, only_once(die))
        with pytest.raises(Killed):
            launching.submit_job(attempt_of(run))
    before, after = [wait_until_ended(run, "succeeded", "failed", "lost") for run in runs]
    for ended in (before, after):
        assert (ended.state, ended.reason) == (State.FAILED.value, "ended with exit code 5: no such prompt")
        assert (ended.directory / "ran").read_text() == "x"
    assert sorted(ray_executor.submitted) == sorted([before.key, before.key, after.key])


def test_concurrent_submits_create_one_job(ray_executor: ScriptedRay, ray: RayHead, tmp_path: Path) -> None:
    spec = Spec("esweb-twice-a1", tmp_path / "runs" / "esweb-twice-a1", tuple(python(COUNTS)))
    ray_executor.program = COUNTS
    with ThreadPoolExecutor(2) as threads:
        assert set(threads.map(ray_executor.submit, [spec, spec])) == {spec.key}
    assert [job["submission_id"] for job in ray.ask("GET", "/api/jobs/")].count(spec.key) == 1
    wait_until((spec.directory / "exit.json").exists, "the program to end")
    wait_until(lambda: ray_status(ray, spec.key) == "FAILED", "Ray to call the job failed")
    assert (spec.directory / "ran").read_text() == "x"
    assert ray_executor.submit(spec) == spec.key and ray_status(ray, spec.key) == "FAILED"


def test_unreachable_dashboard_changes_no_job_state(
    experiment: Experiment, ray_executor: ScriptedRay, ray: RayHead, tmp_path: Path
) -> None:
    ray_executor.program = BUSY
    run = launch_run(experiment)
    running = wait_until_started(run)
    later = launch_run(experiment)
    valid_token, wrong_token = ray_executor.jobs.token_file, tmp_path / "wrong"
    wrong_token.write_text("nonsense")
    ray_executor.jobs.token_file = str(wrong_token)
    launching.submit_job(attempt_of(later))
    assert "refuses access: see token_file (Forbidden" in attempt_of(later).reason
    ray_executor.jobs.token_file = valid_token
    ray.kill_dashboard()
    ticked = tick_run(run)
    assert ticked.state == running.state == State.RUNNING.value
    ticked.cluster.refresh_from_db()
    assert ticked.cluster.unreachable_since_at is not None and ticked.gone_since_at is None
    assert attempt_of(later).state == State.SUBMITTING.value
    ray.start_dashboard()
    assert tick_until(run, "running", "lost").state == State.RUNNING.value
    # A dashboard that has just begun may take the second call only.
    assert (wait_until_started(later).directory / "started").read_text() == "x"
