"""Body of a submit to Ray. A shell reads the command, so every word of it is quoted."""

from __future__ import annotations

import math
import shlex
from typing import Any

from workers.executors.base import Spec
from workers.executors.ray.site import Site

SPARE_SECONDS = 5
"""The agent ends its program when the grace is over; so much later Ray may end the agent."""


def request(site: Site, spec: Spec) -> dict[str, Any]:
    """Return the body of the submit. Nothing of the submitting process is in it."""
    needs = {
        "entrypoint_num_cpus": spec.cores,
        "entrypoint_num_gpus": spec.gpus,
        "entrypoint_memory": spec.memory_mb * 2**20,
        "entrypoint_resources": dict(site.resources),
    }
    # Read by the process that runs the job: without it Ray kills three seconds after the first signal.
    stop_wait = {"RAY_JOB_STOP_WAIT_TIME_S": str(math.ceil(spec.grace_seconds) + SPARE_SECONDS)}
    return {
        "submission_id": spec.key,
        "entrypoint": entrypoint(site, spec),
        "runtime_env": {"env_vars": stop_wait},
        **{name: value for name, value in needs.items() if value},
    }


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
        **site.env,
    }
    settings = [f"{name}={value}" for name, value in env.items()]
    return "exec " + shlex.join(["/usr/bin/env", *settings, site.python, "-m", "workers.agent", str(spec.directory)])
