"""The other nodes of a job of Ray, from the variables of its executor and of Ray."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from workers.config import ConfigError
from workers.config.run import ComputeConfig
from workers.engine_nodes.job import NODE_PROGRAM, OtherNodes
from workers.engine_nodes.ray_job import ACTORS, ADDRESS, JOB, ray_nodes
from workers.executors.base import Spec
from workers.executors.ray.request import entrypoint
from workers.executors.ray.site import Site

IN_RAY = {ADDRESS: "10.0.0.5:6379", JOB: "{}"}
COMPUTE = ComputeConfig(nodes=3, cores=8, gpus=2, gpu_type="H100", memory_mb=500)


def variables(nodes: int = 3, gpu_type: str = "H100", **site: Any) -> dict[str, str]:
    """Return the variables that the executor sets for a job, and those of Ray."""
    spec = Spec("k", Path("/runs/k"), ("true",), nodes=nodes, gpus=2, gpu_type=gpu_type)
    words = shlex.split(entrypoint(Site("http://127.0.0.1:1", **site), spec))
    return {**IN_RAY, **dict(word.split("=", 1) for word in words if "=" in word)}


def read(nodes: OtherNodes | None) -> tuple[str, dict[str, Any]]:
    """Return the Python of the only launcher, and the settings that it gets."""
    assert nodes is not None
    [launcher] = nodes.launchers
    python, script, settings = launcher.argv
    assert script == str(ACTORS) and ACTORS.is_file() and not launcher.environment
    return python, dict(json.loads(settings))


def test_each_other_node_has_the_resources_of_the_first(tmp_path: Path) -> None:
    nodes = ray_nodes(tmp_path, COMPUTE, variables(resources={"fast_disk": 1}, ray_python="/opt/ray/bin/python"))
    assert nodes is not None and (nodes.count, nodes.hosts, nodes.peers) == (2, ("10.0.0.5",), None)
    python, settings = read(nodes)
    assert python == "/opt/ray/bin/python"
    assert settings == {
        "count": 2,
        "bundle": {"CPU": 8, "GPU": 2, "memory": 500 * 2**20, "fast_disk": 1, "accelerator_type:H100": 0.001},
        "argv": [sys.executable, "-m", NODE_PROGRAM, str(tmp_path)],
        "directory": str(tmp_path),
        "contact": str(tmp_path / "engine-nodes.json"),
    }


def test_default_python_is_that_of_the_training(tmp_path: Path) -> None:
    compute = ComputeConfig(nodes=2, cores=1)
    python, settings = read(ray_nodes(tmp_path, compute, variables(gpu_type="", python="/opt/esweb/python")))
    assert (python, settings["bundle"]) == ("/opt/esweb/python", {"CPU": 1})
    assert read(ray_nodes(tmp_path, compute, IN_RAY))[0] == sys.executable


def test_no_other_nodes_outside_ray_or_in_job_of_one_node(tmp_path: Path) -> None:
    assert ray_nodes(tmp_path, COMPUTE, {}) is None
    assert ray_nodes(tmp_path, COMPUTE, {ADDRESS: "10.0.0.5:6379"}) is None
    assert ray_nodes(tmp_path, ComputeConfig(nodes=1), IN_RAY) is None
    assert not [name for name in variables(nodes=1) if name.startswith("ESWEB_RAY")]


def test_address_of_version_six_names_its_host(tmp_path: Path) -> None:
    nodes = ray_nodes(tmp_path, COMPUTE, {**IN_RAY, ADDRESS: "[fd00::5]:6379"})
    assert nodes is not None and nodes.hosts == ("fd00::5",)


def test_unknown_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"RAY_ADDRESS must be an address such as 10\.0\.0\.5:6379, not ''"):
        ray_nodes(tmp_path, COMPUTE, {**IN_RAY, ADDRESS: ""})
