"""The whole spec of jobs, as their cluster gets it: attempts of several kinds, and rebuilds."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from runs import launching
from runs.clusters import cache_of, python_of, timeouts_of
from runs.launching.submit import spec_of
from runs.models import Attempt, Cluster, Experiment, Job, Origin, Rebuild, Run
from tests.runs.launching.test_launch_resumes import make_ended_run, save_checkpoint
from tests.runs.local_cluster import Small, attempt_of, run_of
from workers.config import RunConfig
from workers.executors.base import Spec

CODE = {"sha256": "ab" * 32, "version": "0.1.0", "commit": "", "is_dirty": False, "diff_sha256": ""}
COMPUTE = {"nodes": 2, "cores": 4, "gpus": 2, "memory_mb": 900, "time_limit_seconds": 60, "partition": "long"}


@pytest.fixture
def far() -> Cluster:
    """Return a Slurm cluster whose nodes push their records."""
    config = {"site_url": "http://site", "cache": "/cache", "project": "/project", "other_code": "refuse",
              "partitions": ["short", "long"], "data_paths": ["/data", "/more"], "task_paths": ["/tasks"]}  # fmt: skip
    return Cluster.objects.create(name="far", kind="slurm", config=config)


def expected_spec(job: Job, *command: str, env: dict[str, str] | None = None, **changes: Any) -> Spec:
    """Return the spec of a job that runs this command; env: beside the cache and the data paths."""
    env = {"ESWEB_CACHE": cache_of(job.cluster), "ESWEB_DATA_PATHS": "", **(env or {})}
    argv, directory = (python_of(job.cluster), "-m", *command), job.run.root / job.key
    return Spec(job.key, directory, argv, env=env, grace_seconds=timeouts_of(job.cluster).grace, **changes)


def train(*more: str) -> tuple[str, ...]:
    return ("workers.train", "run.json", "--out", ".", *more)


def test_attempt_on_this_machine(experiment: Experiment, small: Small) -> None:
    attempt = attempt_of(run_of(experiment, cores=2, memory_mb=500, time_limit_seconds=7))
    assert spec_of(attempt) == expected_spec(attempt, *train(), cores=2, memory_mb=500, time_limit_seconds=7)


def test_attempt_that_resumes_with_its_site(experiment: Experiment, small: Small, settings: Settings) -> None:
    run = make_ended_run(experiment)
    save_checkpoint(run, 20)
    attempt = launching.new_attempt(run, origin=Origin.SITE_START)
    Attempt.objects.filter(pk=attempt.pk).update(code=CODE)
    attempt = attempt_of(run)
    command = train("--code", "ab" * 32, "--resume", f"../esweb-{run.uid}-a1/checkpoints/step-000020")
    env = {"PYTHONPATH": str(settings.DATA_DIR / "code" / ("ab" * 32))}
    assert spec_of(attempt) == expected_spec(attempt, *command, env=env, goes_first=True)


def test_attempt_on_nodes_of_a_cluster(
    experiment: Experiment, small: Small, far: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    attempt = attempt_of(run_of(experiment, cluster="far", gpu_type="h100", **COMPUTE))
    attempt.code = CODE
    assert spec_of(attempt) == expected_spec(
        attempt, *train("--code", "ab" * 32, "--other-code", "refuse"),
        env={
            "HF_HUB_OFFLINE": "1", "ESWEB_DATA_PATHS": "/data:/more", "ESWEB_TASK_PATHS": "/tasks",
            "ESWEB_RUN_SITE": "http://site", "ESWEB_RUN_SITE_TOKEN": "site-token", "ESWEB_RUN_PUSHES": "1",
        }, gpu_type="h100", **COMPUTE,
    )  # fmt: skip


def test_rebuild_takes_one_node_without_gpus_and_no_credentials(
    experiment: Experiment, small: Small, far: Cluster
) -> None:
    run = run_of(experiment, cluster="far", gpu_type="h100", **COMPUTE)
    rebuild = Rebuild.objects.create(
        run=Run.objects.get(pk=run.pk), step=33, key=f"esweb-{run.uid}-r33-abcd", cluster=far, asked_by=run.created_by
    )
    command = ("workers.engines.es.replay", str(run.root), "--step", "33", "--out", "step-000033", "--device", "cpu")
    assert spec_of(rebuild) == expected_spec(
        rebuild, *command, cores=4, memory_mb=900,
        env={"ESWEB_DATA_PATHS": "/data:/more", "ESWEB_TASK_PATHS": "/tasks"},
    )  # fmt: skip


def test_jobs_name_the_runs_that_their_config_names(experiment: Experiment, small: Small) -> None:
    parent = make_ended_run(experiment)
    save_checkpoint(parent, 20)
    config = {"method": "es", "es": {}, "model": {"path": f"run:{parent.uid}@20"}}
    run = launching.create_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config))
    attempt = attempt_of(run)
    rebuild = Rebuild(run=attempt.run, step=1, key=f"esweb-{run.uid}-r1-abcd", cluster=attempt.cluster)
    for job in (attempt, rebuild):
        folder = f"../../{parent.uid}/esweb-{parent.uid}-a1/checkpoints/step-000020"
        assert (spec_of(job).env or {})["ESWEB_RUN_CHECKPOINT"] == folder
