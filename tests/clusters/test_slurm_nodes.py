"""Engines over the nodes of a real Slurm: equal to one process bit by bit, also when nodes are lost or preempted."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import launching
from runs.clusters import executor_for
from runs.ingest import Follower
from runs.launching import reconcile
from runs.models import Attempt, Checkpoint, Cluster, EngineReport, Experiment, Run
from tests import soak_plugin
from tests.clusters.scripted_slurm import cluster_directory, make_slurm_cluster, set_timeouts
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import CORES, GPU_SHARDS, GPUS, MEMORY_MB
from tests.clusters.training import launch_by_sweep, read_result, train
from tests.runs.local_cluster import attempt_of, tick_until_true
from tests.waiting import wait_until
from workers.config import ConfigError, RunConfig, preset
from workers.config.run import ComputeConfig
from workers.engine_nodes.job import NODE_PROGRAM
from workers.engine_nodes.slurm_job import slurm_nodes
from workers.executors.base import NodeShape
from workers.executors.states import State

pytestmark = pytest.mark.soak

SEED = soak_plugin.seed(157)
LONG = {"es": {"iterations": 60, "population": 6, "rows": 32, "checkpoint_every": 10, "hash_every": 1}}


@pytest.fixture
def clusters(local: Cluster, slurm: SlurmCluster, site_disk: Path) -> None:
    """Set up this machine, and the Slurm as `far`."""
    make_slurm_cluster(slurm_conf=str(slurm.conf), env={"HF_HUB_OFFLINE": "1"}, partitions=["main", "low"])


def launch(experiment: Experiment, **compute: Any) -> Run:
    """Launch a long run with several engines."""
    config = preset("es-micro").config
    config = {**config, "es": {**config["es"], **LONG["es"]}, "evaluation": {"every": 0, "prompts": 2, "samples": 1}}
    person = experiment.owner
    return launching.create_run(
        experiment=experiment, person=person, config=RunConfig.from_json({**config, "compute": compute})
    )


def steps(attempt: Attempt) -> int:
    """Return the updates in the replay log of an attempt."""
    log = cluster_directory(attempt) / "replay.jsonl"
    return log.read_bytes().count(b'"parent"') if log.exists() else 0


def wait_for_steps(run: Run, count: int) -> Attempt:
    """Tick until the newest attempt has made so many updates."""

    def has_trained() -> bool:
        reconcile.reconcile_cluster(attempt_of(run).cluster)
        return steps(attempt_of(run)) >= count

    wait_until(has_trained, f"{count} updates", details=lambda: f"{attempt_of(run).state} {attempt_of(run).reason}")
    return attempt_of(run)


def node_programs(attempt: Attempt) -> dict[str, int]:
    """Return the number of a node -> pid of its node program, for the nodes on which one runs."""
    programs = {}
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode().split("\0")
        except OSError:
            continue
        if words[1:3] == ["-m", NODE_PROGRAM] and words[3] == str(cluster_directory(attempt).resolve()):
            programs[words[4].removeprefix("--node=")] = int(file.parent.name)
    return programs


def kill_node_program(attempt: Attempt) -> None:
    """Send SIGKILL to one of the node programs, once there is one."""
    wait_until(lambda: node_programs(attempt), "a node program")
    pid = random.Random(SEED).choice(list(node_programs(attempt).values()))
    os.kill(pid, signal.SIGKILL)


def engines_of(run: Run) -> list[dict[str, Any]]:
    """Return the engines of a run's last report."""
    return list(EngineReport.objects.filter(run=run).latest("pk").engines)


def test_es_on_three_nodes_equals_local_es(ada: User, clusters: None) -> None:
    local_run, spread, typed = launch_by_sweep(
        ada,
        {"compute.cluster": "local"},
        {"compute.cluster": "far", "compute.nodes": 3},
        {"compute.cluster": "far", "compute.nodes": 2, "compute.gpus": 1, "compute.gpu_type": "a100"},
    )
    train([local_run, spread, typed])
    assert read_result(spread) == read_result(typed) == read_result(local_run)
    assert {engine["node"] for engine in engines_of(spread)} == {"n1", "n2", "n3"}
    assert {engine["node"] for engine in engines_of(typed)} == {"n1", "n2"}


def test_killed_and_lost_nodes_leave_the_weights_unchanged(
    experiment: Experiment, clusters: None, slurm: SlurmCluster
) -> None:
    here, spread = launch(experiment), launch(experiment, cluster="far", nodes=3)
    draw = random.Random(SEED)
    kill_node_program(wait_for_steps(spread, draw.randrange(1, 8)))
    attempt = wait_for_steps(spread, draw.randrange(12, 20))
    first = slurm.ask("squeue", "-h", "-n", attempt.key, "-o", "%B").strip()
    lost = draw.choice([n for n in (1, 2, 3) if f"n{n}" != first])
    slurm.lose_node(lost)
    kill_node_program(attempt)
    train([here, spread])
    assert attempt_of(spread).n == 1
    assert final_weights(spread) == final_weights(here)
    states = {engine["node"]: engine["state"] for engine in engines_of(spread)}
    assert states[first] == "ready"


def test_preempted_run_goes_on_exactly(experiment: Experiment, clusters: None, slurm: SlurmCluster) -> None:
    here, spread = launch(experiment), launch(experiment, cluster="far", nodes=2, partition="low", restarts=1)
    wait_for_steps(spread, 5)
    slurm.ask("sbatch", "--exclusive", "-N3", "-p", "high", "-o", "/dev/null", "--wrap", "sleep 1")
    wait_until((cluster_directory(attempt_of(spread)) / "exit.json").exists, "the preempted run to stop")
    tick_until_true(spread, "the next attempt", lambda attempt: attempt.n == 2)
    train([here, spread])
    assert attempt_of(spread).n == 2
    assert final_weights(spread) == final_weights(here)


def test_requeued_job_goes_on_exactly(experiment: Experiment, clusters: None, slurm: SlurmCluster) -> None:
    """esweb's jobs are not requeued, but an administrator may do it."""
    here, spread = launch(experiment), launch(experiment, cluster="far", nodes=2, restarts=1)
    set_timeouts(settle=2.0)
    number = wait_for_steps(spread, 12).native_id
    slurm.ask("scontrol", "update", f"JobId={number}", "Requeue=1")
    slurm.ask("scontrol", "requeue", number)
    follower = Follower()

    def has_succeeded() -> bool:
        reconcile.reconcile_cluster(Cluster.objects.get(name="far"))
        follower.look()
        attempt = attempt_of(spread)
        return attempt.state == State.SUCCEEDED.value and attempt.drained_at is not None

    def describe() -> list[str]:
        return [f"{a.key}: {a.state}, {a.reason}" for a in spread.attempts.order_by("n")] + [slurm.describe()]

    wait_until(has_succeeded, "the requeued run to end", details=describe)
    train([here])
    assert final_weights(spread) == final_weights(here)


def final_weights(run: Run) -> str:
    """Return the hash of the weights after the last update."""
    return Checkpoint.objects.get(run=run, step=LONG["es"]["iterations"]).sha256


def test_nodes_of_slurm_are_listed_by_partition(clusters: None) -> None:
    shapes = executor_for(Cluster.objects.get(name="far")).node_shapes()
    assert NodeShape(2, CORES, MEMORY_MB, GPUS, "a100", "main", GPU_SHARDS["a100"]) in shapes
    assert NodeShape(1, CORES, MEMORY_MB, GPUS, "h100", "low") in shapes
    assert sum(shape.count for shape in shapes if shape.partition == "main") == 3


def test_other_nodes_of_a_job_are_named_by_slurm(
    clusters: None, slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURMD_NODENAME": "n1"}
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))

    others = slurm_nodes(tmp_path, ComputeConfig(nodes=2, cores=3, gpus=2, gpu_type="a100"), job)

    assert others is not None
    assert others.count == 1
    assert others.peers is not None
    assert "127.0.0.1" in others.peers
    assert set(others.hosts) == others.peers
    (launcher,) = others.launchers
    assert {"--nodelist=n2", "--cpus-per-task=3", "--gres=gpu:a100:2", "--node=1"} < set(launcher.argv)
    assert slurm_nodes(tmp_path, ComputeConfig(nodes=2), {}) is None
    with pytest.raises(ConfigError, match=r"compute\.nodes: is 3, but this job of Slurm has 2: n1, n2"):
        slurm_nodes(tmp_path, ComputeConfig(nodes=3), job)
    with monkeypatch.context() as patch, pytest.raises(ConfigError, match=r"compute\.nodes: Slurm does not name the "):
        patch.setenv("PATH", "/nowhere")
        slurm_nodes(tmp_path, ComputeConfig(nodes=2), job)
