"""Whoever dies around a submit, and whatever Ray answers: one job, and its program runs once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runs import launching
from runs.models import Experiment
from tests.clusters.far_slurm import BUSY, await_end, run_far, started, tick_far
from tests.clusters.ray import RayHead
from tests.clusters.ray_cluster import OnRay, word_of
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import python
from workers.executors.base import Spec
from workers.executors.states import State

COUNTS = "open('ran', 'a').write('x'); print('no such prompt'); raise SystemExit(5)"


class Killed(BaseException):
    """Stands for the worker dying at this line."""


def once(then: Callable[[], None]) -> Callable[[], None]:
    """Does it the first time only."""
    left = [then]
    return lambda: left.pop()() if left else None


def die() -> None:
    raise Killed


def test_a_worker_that_dies_around_a_submit_costs_nothing(experiment: Experiment, on_ray: OnRay) -> None:
    on_ray.program = COUNTS
    runs = [run_far(experiment), run_far(experiment)]
    for run, moment in zip(runs, ("before_submit", "after_submit"), strict=True):
        setattr(on_ray, moment, once(die))
        with pytest.raises(Killed):
            launching.submit_job(attempt_of(run))
    before, after = [await_end(run, "succeeded", "failed", "lost") for run in runs]
    for ended in (before, after):
        assert (ended.state, ended.reason) == (State.FAILED.value, "ended with exit code 5: no such prompt")
        assert (ended.directory / "ran").read_text() == "x"
    assert sorted(on_ray.submitted) == sorted([before.key, before.key, after.key])


def test_of_a_job_that_is_submitted_twice_at_once_there_is_one(on_ray: OnRay, ray: RayHead, tmp_path: Path) -> None:
    spec = Spec("esweb-twice-a1", tmp_path / "runs" / "esweb-twice-a1", tuple(python(COUNTS)))
    on_ray.program = COUNTS
    with ThreadPoolExecutor(2) as both:
        assert set(both.map(on_ray.submit, [spec, spec])) == {spec.key}
    assert [job["submission_id"] for job in ray.ask("GET", "/api/jobs/")].count(spec.key) == 1
    wait_until((spec.directory / "exit.json").exists, "the program to end")
    wait_until(lambda: word_of(ray, spec.key) == "FAILED", "Ray to call the job failed")
    assert (spec.directory / "ran").read_text() == "x"
    assert on_ray.submit(spec) == spec.key and word_of(ray, spec.key) == "FAILED"


def test_a_dashboard_that_is_down_or_refuses_us_says_nothing_about_jobs(
    experiment: Experiment, on_ray: OnRay, ray: RayHead, tmp_path: Path
) -> None:
    on_ray.program = BUSY
    run = run_far(experiment)
    before = started(run)
    later = run_far(experiment)
    right, wrong = on_ray.jobs.token_file, tmp_path / "wrong"
    wrong.write_text("nonsense")
    on_ray.jobs.token_file = str(wrong)
    launching.submit_job(attempt_of(later))
    assert "does not let us in: see token_file (Forbidden" in attempt_of(later).reason
    on_ray.jobs.token_file = right
    ray.kill_dashboard()
    after = tick_far(run)
    assert after.state == before.state == State.RUNNING.value
    after.cluster.refresh_from_db()
    assert after.cluster.unreachable_since_at is not None and after.gone_since_at is None
    assert attempt_of(later).state == State.SUBMITTING.value
    ray.start_dashboard()
    assert tick_until(run, "running", "lost").state == State.RUNNING.value
    # A dashboard that has just begun may take the second call only.
    assert (started(later).directory / "started").read_text() == "x"
