"""The nodes of a job of Ray. A process in Ray's own Python runs the node program on them, by actors of Ray.

Ray starts a job's command on one node; the resources of the others are a placement group. If a node fails, Ray replaces
it by another one as soon as there is one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from workers.config import ConfigError, Problem
from workers.config.run import ComputeConfig
from workers.engine_nodes.job import NODE_PROGRAM, Launcher, OtherNodes
from workers.engine_nodes.links import CONTACT

ADDRESS, JOB = "RAY_ADDRESS", "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Variables that Ray sets for the command of a job: the address of its head, and the job's own config."""
PYTHON, RESOURCES = "ESWEB_RAY_PYTHON", "ESWEB_RAY_RESOURCES"
"""Variables from the executor: a Python in which Ray is installed, and custom resources of each node, as JSON."""
ACTORS = Path(__file__).with_name("ray_actors.py")


def ray_nodes(
    directory: Path, compute: ComputeConfig, environment: Mapping[str, str] = os.environ
) -> OtherNodes | None:
    """Return the other nodes of the job; None if this process is in no job of Ray, or the job has one node.

    Raise ConfigError if Ray's address cannot be read.
    """
    if ADDRESS not in environment or JOB not in environment or compute.nodes == 1:
        return None
    address = environment[ADDRESS]
    # Addresses such as 10.0.0.5:6379 and [fd00::5]:6379.
    host = urlsplit(f"//{address}").hostname
    if not host:
        rule = f"{ADDRESS} must be an address such as 10.0.0.5:6379"
        raise ConfigError([Problem("compute.nodes", f"the nodes of Ray are not known: {rule}, not {address!r}")])
    count = compute.nodes - 1
    python = environment.get(PYTHON) or sys.executable
    settings = _settings(directory.resolve(), compute, count, _custom_resources(environment))
    return OtherNodes(count, (Launcher((python, str(ACTORS), json.dumps(settings))),), (host,))


def _settings(directory: Path, compute: ComputeConfig, count: int, custom: Mapping[str, float]) -> dict[str, object]:
    """Return the argument of ray_actors.py. Other users of the machine can read it."""
    needs = {"CPU": compute.cores, "GPU": compute.devices, "memory": compute.memory_mb * 2**20}
    return {
        "count": count,
        "bundle": {**{name: amount for name, amount in needs.items() if amount}, **custom},
        "argv": [sys.executable, "-m", NODE_PROGRAM, str(directory)],
        "directory": str(directory),
        "contact": str(directory / CONTACT),
    }


def _custom_resources(environment: Mapping[str, str]) -> dict[str, float]:
    resources: dict[str, float] = json.loads(environment.get(RESOURCES) or "{}")
    return resources
