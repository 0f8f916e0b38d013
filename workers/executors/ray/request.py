"""Body of a submit to Ray. A shell reads the command, so every word of it is quoted."""

from __future__ import annotations

import json
import math
import shlex
from typing import Any

from workers.executors.base import Spec
from workers.executors.ray.nodes import TYPE_AMOUNT, TYPE_RESOURCE
from workers.executors.ray.site import Site

SPARE_SECONDS = 5
"""The agent ends its program when the grace is over; so much later Ray may end the agent."""


def request(site: Site, spec: Spec) -> dict[str, Any]:
    """Return the body of the submit. Nothing of the submitting process is in it.

    Ray starts the command on one node; the training process requests the others itself.
    """
    needs = {
        "entrypoint_num_cpus": spec.cores,
        "entrypoint_num_gpus": spec.gpus,
        "entrypoint_memory": spec.memory_mb * 2**20,
        "entrypoint_resources": custom_resources(site, spec),
    }
    # Read by the process that runs the job: without it Ray kills three seconds after the first signal.
    stop_wait = {"RAY_JOB_STOP_WAIT_TIME_S": str(math.ceil(spec.grace_seconds) + SPARE_SECONDS)}
    return {
        "submission_id": spec.key,
        "entrypoint": entrypoint(site, spec),
        "runtime_env": {"env_vars": stop_wait},
        **{name: value for name, value in needs.items() if value},
    }


def custom_resources(site: Site, spec: Spec) -> dict[str, float]:
    """Return the custom resources of each node. The type of GPU of a run replaces that of the cluster's config."""
    if not spec.gpu_type:
        return dict(site.resources)
    others = {name: amount for name, amount in site.resources.items() if not name.startswith(TYPE_RESOURCE)}
    return {**others, f"{TYPE_RESOURCE}{spec.gpu_type}": TYPE_AMOUNT}


def entrypoint(site: Site, spec: Spec) -> str:
    """Return the command. The agent replaces the shell, so that it gets Ray's signal and leaves nothing when it is
    killed."""
    env = {
        "PYTHONPATH": site.project,
        "OMP_NUM_THREADS": str(spec.cores),
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        # Ray names the GPUs that it gave to a job; a job without GPUs would otherwise see all GPUs of its node.
        **({} if spec.gpus else {"CUDA_VISIBLE_DEVICES": ""}),
        **(_other_nodes(site, spec) if spec.nodes > 1 else {}),
        **site.env,
    }
    settings = [f"{name}={value}" for name, value in env.items()]
    return "exec " + shlex.join(["/usr/bin/env", *settings, site.python, "-m", "workers.agent", str(spec.directory)])


def _other_nodes(site: Site, spec: Spec) -> dict[str, str]:
    """Return the variables by which the training process requests the other nodes: see workers/engine_nodes."""
    resources = custom_resources(site, spec)
    return {
        "ESWEB_RAY_PYTHON": site.ray_python or site.python,
        **({"ESWEB_RAY_RESOURCES": json.dumps(resources)} if resources else {}),
    }
