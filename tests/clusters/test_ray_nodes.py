"""Runs on several nodes of a real Ray: one node runs the training, actors run the node program on the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Cluster, Experiment
from tests.clusters.ray import RayHead, RayNode
from tests.clusters.ray.installation import python as ray_python
from tests.clusters.scripted_ray import ScriptedRay, make_ray_cluster
from tests.clusters.scripted_slurm import BUSY, launch_run, wait_until_started
from tests.clusters.test_slurm_nodes import engines_of, final_weights, launch, node_programs, wait_for_steps
from tests.clusters.training import launch_by_sweep, read_result, train
from tests.runs.local_cluster import attempt_of, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.attempt import CLOSED_EPOCH, Process, lease
from workers.config.run import ComputeConfig
from workers.engine_nodes.ray_job import ADDRESS, JOB, PYTHON, RESOURCES, ray_nodes
from workers.executors.states import State

pytestmark = pytest.mark.soak

STAND_IN = f"""
import json, os, time
line = {{"pid": os.getpid(), "cuda": os.environ["CUDA_VISIBLE_DEVICES"], "note": os.environ["NOTE"],
        "ray": [name for name in os.environ if name.startswith("RAY_")],
        "session": os.getsid(0)}}
with open("programs.jsonl", "a") as file:
    file.write(json.dumps(line) + "\\n")
time.sleep({2 * PATIENCE_SECONDS})
"""
"""In place of the node program: it reports itself in the attempt's directory, and stays."""


class Programs:
    """The lines of the stand-ins of one directory."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "programs.jsonl"

    def await_number(self, number: int) -> dict[str, Any]:
        """Return the line of the program with this number, from 1, once it runs."""
        wait_until(lambda: len(self._lines()) >= number, f"node program {number} to start", details=self._lines)
        return dict(json.loads(self._lines()[number - 1]))

    def _lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []


def running(line: dict[str, Any]) -> Process:
    """Return the process of a program that runs."""
    process = Process.at(line["pid"])
    assert process is not None
    return process


@pytest.fixture
def training(ray: RayHead, second_ray_node: RayNode, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that starts the actors of a run on two nodes as a training process does, and then stays."""
    custom = json.dumps({"accelerator_type:H100": 0.001})
    environment = {
        **ray.env(), ADDRESS: ray.gcs_address, JOB: "{}", PYTHON: str(ray_python()), RESOURCES: custom, "NOTE": "x",
    }  # fmt: skip
    nodes = ray_nodes(tmp_path, ComputeConfig(nodes=2, cores=1, gpus=1), environment)
    assert nodes is not None and nodes.count == 1
    [launcher] = nodes.launchers
    python, script, settings = launcher.argv
    stand_in = [sys.executable, "-c", STAND_IN]
    argv = [python, script, json.dumps({**json.loads(settings), "argv": stand_in})]
    parent = f"import subprocess, sys; subprocess.Popen({argv!r}, stderr=open('log', 'w')); sys.stdin.read()"
    Path(json.loads(settings)["contact"]).touch()
    process = subprocess.Popen([sys.executable, "-c", parent], cwd=tmp_path, env=environment, stdin=subprocess.PIPE)
    with process:
        yield process
        process.kill()


def test_node_program_runs_on_other_node_until_training_ends(
    training: subprocess.Popen[bytes], second_ray_node: RayNode, tmp_path: Path
) -> None:
    programs = Programs(tmp_path)
    first = programs.await_number(1)
    assert first["session"] == second_ray_node.session_id()
    assert (first["cuda"], first["note"], first["ray"]) in [("0", "x", []), ("1", "x", [])]
    # The program alone ends.
    os.kill(first["pid"], signal.SIGKILL)
    second = programs.await_number(2)
    assert "node 1: the program was killed by signal 9; it starts again in 1 s" in (tmp_path / "log").read_text()
    # Its node is lost, and returns.
    process = running(second)
    second_ray_node.kill()
    wait_until(lambda: not process.is_alive(), "the program to end with its node")
    wait_until(lambda: "waiting for Ray to have 1 CPU" in (tmp_path / "log").read_text(), "the wait to be reported")
    second_ray_node.up()
    process = running(programs.await_number(3))
    # The training ends.
    training.kill()
    wait_until(lambda: not process.is_alive(), "the program to end with the training")


@pytest.fixture
def clusters(local: Cluster, ray: RayHead, second_ray_node: RayNode, site_disk: Path) -> None:
    """Set up this machine, and the Ray with two nodes as `far`."""
    cluster = make_ray_cluster(ray)
    cluster.config = {**cluster.config, "env": {"HF_HUB_OFFLINE": "1"}, "ray_python": str(ray_python())}
    cluster.save()


def test_es_on_two_nodes_equals_local_es(ada: User, clusters: None) -> None:
    # One member in a batch, so that each engine has some.
    cells = {"compute.cluster": "local"}, {"compute.cluster": "far", "compute.nodes": 2}
    local_run, spread = launch_by_sweep(ada, *({**cell, "es.rows": 8} for cell in cells))
    train([local_run, spread])
    assert read_result(spread) == read_result(local_run)
    assert [(engine["state"], engine["members"] > 0) for engine in engines_of(spread)] == [("ready", True)] * 2


def test_lost_node_leaves_the_weights_unchanged(
    experiment: Experiment, clusters: None, second_ray_node: RayNode
) -> None:
    here, spread = launch(experiment), launch(experiment, cluster="far", nodes=2)
    attempt = wait_for_steps(spread, 3)
    wait_until(lambda: node_programs(attempt), "the node program")
    assert os.getsid(node_programs(attempt)["1"]) == second_ray_node.session_id()
    second_ray_node.kill()
    train([here, spread])
    assert attempt_of(spread).n == 1 and final_weights(spread) == final_weights(here)
    assert any("is lost" in alert for alert in attempt_of(spread).events.values_list("why", flat=True))


def test_run_waits_for_nodes_that_ray_does_not_have(
    experiment: Experiment, second_ray_node: RayNode, ray: RayHead, ray_executor: ScriptedRay
) -> None:
    make_ray_cluster(ray, never=1.0)
    ray_executor.program = BUSY
    [size] = {(shape.count, shape.cores, shape.gpus, shape.gpu_type) for shape in ray_executor.node_shapes()} - {
        (1, 8, 2, "")
    }
    assert size == (1, 4, 2, "H100")
    waiting = launch_run(experiment, nodes=3)
    queued = tick_until_true(waiting, "Ray to have too few nodes", lambda a: "Ray has" in a.reason)
    assert queued.reason == (
        "waiting for 3 nodes with 1 core each: Ray has 2 nodes that large now (not sent to Ray yet)"
    )
    ended = tick_until(waiting, "failed", "running", "cancelled")
    assert ended.state == State.FAILED.value and lease(ended.directory) == CLOSED_EPOCH
    assert ended.reason.startswith("cancelled after 1 s because it cannot start: waiting for 3 nodes")
    # Two nodes are there, and a type of GPU in any spelling.
    typed = launch_run(experiment, nodes=1, gpus=1, gpu_type="h100")
    assert wait_until_started(typed).state == State.RUNNING.value
