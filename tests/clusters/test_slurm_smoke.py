"""A real Slurm in `make check`: its commands, its replies and its jobs are as the fakes have them.

Everything else about a real Slurm is part of `make soak PART=clusters`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runs import launching
from runs.models import Experiment
from tests.clusters.scripted_slurm import (
    OVER_SSH,
    ScriptedSlurm,
    cluster_directory,
    launch_run,
    launch_sweep,
    recorded_commands,
    tick_run,
    wait_until_ended,
    wait_until_started,
)
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import CORES, GPU_SHARDS, GPUS, MEMORY_MB
from tests.runs.local_cluster import attempt_of, tick_until
from tests.workers.attempts import CHECKPOINTS
from workers.executors.base import NodeShape, Rejected, Spec
from workers.executors.states import State

SHOWS_ENV = "import os; open('env', 'w').write(repr(dict(os.environ))); print('bye'); raise SystemExit(3)"


def test_slurm_runs_a_job_cancels_another_and_refuses_a_third(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    monkeypatch.setenv("SBATCH_PARTITION", "high")
    failing, stopping = launch_run(experiment, gpus=0.3), launch_run(experiment)
    for run, program in ((failing, SHOWS_ENV), (stopping, CHECKPOINTS)):
        slurm_executor.program = program
        launching.submit_job(attempt_of(run))
        assert attempt_of(run).state == State.QUEUED.value and attempt_of(run).native_id.isdecimal()
    wait_until_started(stopping)
    launching.request_cancel(stopping, experiment.owner)
    cancelled = tick_until(stopping, "cancelled", "failed", "interrupted")
    assert (cancelled.state, cancelled.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert (cancelled.directory / "checkpoint").read_text() == "SIGTERM"
    failed = wait_until_ended(failing, "succeeded", "failed", "lost")
    assert (failed.state, failed.reason) == (State.FAILED.value, "ended with exit code 3: bye")
    environment = (failed.directory / "env").read_text()
    assert "sown-in" not in environment and "'CUDA_VISIBLE_DEVICES': '" in environment
    assert "'SLURM_JOB_PARTITION': 'main'" in environment
    # Of the four shards of a GPU, two are at least 0.3 of it.
    assert "'SLURM_SHARDS_ON_NODE': '2'" in environment and "'SLURM_GPUS_ON_NODE': '1'" in environment
    check_replies(slurm_executor, failed.directory.parent / "refused")
    seen = slurm_executor.find(failed.key)
    assert seen is not None and (seen.state, seen.native_id) == (State.FAILED, failed.native_id)


def check_replies(executor: ScriptedSlurm, folder: Path) -> None:
    """Check what Slurm lists and refuses; neither starts a job."""
    assert NodeShape(2, CORES, MEMORY_MB, GPUS, "a100", "main", GPU_SHARDS["a100"]) in executor.node_shapes()
    site = executor.site
    for change, needs, reason in (
        ({"partition": "nosuch"}, {}, r"there are high, low, lowgrace, main, short"),
        ({}, {"gpus": 99}, "^Batch job submission failed: Requested node configuration is not available$"),
        ({}, {"gpus": 0.5, "gpu_type": "h100"}, "^the nodes that the run may use have no shards of GPUs"),
    ):
        executor.site = replace(site, **change)  # type: ignore[arg-type]
        with pytest.raises(Rejected, match=reason):
            executor.submit(Spec("esweb-refused-a1", folder, ("true",), **needs))  # type: ignore[arg-type]
        executor.site = site
        assert executor.find("esweb-refused-a1") is None


@OVER_SSH
def test_slurm_runs_an_array_over_ssh(experiment: Experiment, slurm_executor: ScriptedSlurm) -> None:
    slurm_executor.program = CHECKPOINTS
    runs = launch_sweep(experiment, 2)
    recorded_commands.clear()
    tick_run(runs[0])
    numbers = [attempt_of(run).native_id for run in runs]
    assert [number.partition("_")[2] for number in numbers] == ["0", "1"] and numbers[0][:-1] == numbers[1][:-1]
    stopped, other = map(wait_until_started, runs)
    launching.request_cancel(runs[0], experiment.owner)
    ended = tick_until(runs[0], "cancelled", "failed", "interrupted")
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert (cluster_directory(stopped) / "checkpoint").read_text() == "SIGTERM"
    assert (ended.directory / "exit.json").read_bytes() == (cluster_directory(ended) / "exit.json").read_bytes()
    assert tick_run(runs[1]).state == State.RUNNING.value and not (cluster_directory(other) / "checkpoint").exists()
