"""What sbatch is told: its options, and a script that is the same for every job."""

from __future__ import annotations

import math

from workers.executors.base import Spec
from workers.executors.slurm.site import Site

LOG = "slurm.log"
SCRIPT_FILE = "job.sh"
SCRIPT = """\
#!/bin/bash
# The same for every job of esweb. Arguments: modules to load, --, the agent's command.
if [ "$1" != -- ] && ! type module >/dev/null 2>&1; then . /etc/profile; fi
while [ "$1" != -- ]; do
  module load "$1" || { echo "esweb job: the module $1 was not loaded" >&2; exit 78; }
  shift
done
shift
# The agent takes the script's place, so that it hears the signals that Slurm sends.
exec "$@" --epoch "${SLURM_RESTART_COUNT:-0}"
"""
SPARE_SECONDS = 120
"""Slurm counts minutes, and warns up to one early. The agent is to be the first to notice the run's own limit."""


def sbatch_argv(site: Site, spec: Spec) -> list[str]:
    """The whole command. No requeue: what follows an end is decided in one place, which is not Slurm."""
    return [
        "sbatch",
        "--parsable",
        f"--job-name={spec.key}",
        "--comment=esweb",
        f"--chdir={spec.directory}",
        # A % of its own would be taken for a pattern.
        f"--output={str(spec.directory).replace('%', '%%')}/{LOG}",
        "--open-mode=append",
        "--no-requeue",
        # Of two jobs of one name Slurm never runs both at once.
        "--dependency=singleton",
        # Nothing of the submitting process reaches the job.
        "--export=NIL",
        f"--signal=B:USR1@{math.ceil(spec.grace_seconds)}",
        *_needs(site, spec),
        *_place(site),
        str(spec.directory / SCRIPT_FILE),
        *site.modules,
        "--",
        *_agent(site, spec),
    ]


def _needs(site: Site, spec: Spec) -> list[str]:
    needs = ["--nodes=1", "--ntasks=1", f"--cpus-per-task={spec.cores}"]
    if spec.gpus:
        needs.append("--gres=" + ":".join(filter(None, ("gpu", site.gpu_type, str(spec.gpus)))))
    if spec.memory_mb:
        needs.append(f"--mem={spec.memory_mb}M")
    if spec.time_limit_seconds:
        seconds = spec.time_limit_seconds + spec.grace_seconds + SPARE_SECONDS
        needs.append(f"--time={math.ceil(seconds / 60)}")
    elif site.time_limit_seconds:
        needs.append(f"--time={math.ceil(site.time_limit_seconds / 60)}")
    return needs


def _place(site: Site) -> list[str]:
    said = {
        "partition": site.partition,
        "account": site.account,
        "qos": site.qos,
        "constraint": site.constraint,
    }
    return [f"--{name}={value}" for name, value in said.items() if value]


def _agent(site: Site, spec: Spec) -> list[str]:
    env = {
        "PYTHONPATH": site.project,
        "OMP_NUM_THREADS": str(spec.cores),
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        **site.env,
    }
    settings = [f"{name}={value}" for name, value in env.items()]
    return ["/usr/bin/env", *settings, site.python, "-m", "workers.agent", str(spec.directory)]
