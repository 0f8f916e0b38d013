"""GRPO with one process on each of two nodes of a real Slurm: what one process learns, and a lost node ends the run."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from runs import launching
from runs.models import Cluster, Experiment, Response, Run
from tests.clusters.scripted_slurm import cluster_directory, make_slurm_cluster
from tests.clusters.slurm import SlurmCluster
from tests.clusters.test_slurm_nodes import node_programs
from tests.clusters.training import train
from tests.runs.local_cluster import attempt_of, tick_until_true
from workers.config import RunConfig, preset
from workers.executors.states import State

pytestmark = pytest.mark.soak


@pytest.fixture
def clusters(local: Cluster, slurm: SlurmCluster, site_disk: Path) -> None:
    """Set up this machine, and the Slurm as `far`."""
    make_slurm_cluster(slurm_conf=str(slurm.conf), env={"HF_HUB_OFFLINE": "1"})


def launch(experiment: Experiment, steps: int, **compute: Any) -> Run:
    """Launch a GRPO run on two nodes."""
    config = preset("grpo-micro").config
    grpo = config["grpo"] | {
        "max_steps": steps,
        "per_device_train_batch_size": 16,
        "completions_every": 1,
        "save_steps": 2,
    }
    plan = {"every": 0, "prompts": 2, "samples": 1}
    config = {**config, "grpo": grpo, "evaluation": plan, "compute": {"cluster": "far", "nodes": 2, **compute}}
    return launching.create_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config))


def test_grpo_trains_on_two_nodes(experiment: Experiment, clusters: None) -> None:
    run = launch(experiment, steps=2)

    train([run])

    attempt = attempt_of(run)
    assert attempt.state == State.SUCCEEDED.value, attempt.reason
    assert "num_machines: 2" in (cluster_directory(attempt) / "accelerate.yaml").read_text(encoding="utf-8")
    completions = Response.objects.filter(run=run, split="train", step=1)
    assert completions.count() == 32


def test_lost_process_on_another_node_restarts_the_run(experiment: Experiment, clusters: None) -> None:
    run = launch(experiment, steps=40, restarts=1)
    attempt = tick_until_true(
        run, "a checkpoint", lambda attempt: any(cluster_directory(attempt).glob("checkpoints/step-*"))
    )
    (program,) = node_programs(attempt).values()
    (process,) = psutil.Process(program).children()

    process.send_signal(signal.SIGKILL)

    tick_until_true(run, "the next attempt", lambda attempt: attempt.n == 2)
    first = run.attempts.get(n=1)
    assert first.state == State.FAILED.value
    assert "process 2 of 2" in first.reason
    train([run])
    assert attempt_of(run).state == State.SUCCEEDED.value
