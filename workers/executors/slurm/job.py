"""Arguments of sbatch: its options, and a script that is the same for every job, alone or one of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePath

from workers.executors.base import Spec
from workers.executors.slurm.site import Site

LOG = "slurm.log"
SCRIPT_FILE = "job.sh"
SCRIPT = """\
#!/bin/bash
# The same for every job of esweb. Arguments: modules to load, --, the agent's command. A task of an array finds its
# directory behind a link that bears its number.
if [ "$1" != -- ] && ! type module >/dev/null 2>&1; then . /etc/profile; fi
while [ "$1" != -- ]; do
  module load "$1" || { echo "esweb job: the module $1 was not loaded" >&2; exit 78; }
  shift
done
shift
if [ -n "$SLURM_ARRAY_TASK_ID" ]; then
  cd -P -- "$SLURM_ARRAY_TASK_ID" || { echo "esweb job: its directory is not there" >&2; exit 78; }
  set -- "$@" "$PWD"
fi
# The agent takes the script's place, so that it hears the signals that Slurm sends.
exec "$@" --epoch "${SLURM_RESTART_COUNT:-0}"
"""
NEVER = "now+3650days"
"""Begin of an array's tasks until they have their names. `--hold` would need a second request to release each task: a
controller that crashed between the two would leave tasks that look as if their owner held them."""
SPARE_SECONDS = 120
"""Slurm counts minutes, and warns up to one minute early. The agent should be the first to notice the run's own
limit."""


def sbatch_argv(site: Site, spec: Spec, shards: int = 0) -> list[str]:
    """Return the whole command. No requeue: what follows an end is decided in one place, which is not Slurm.

    `shards`: those that a job requests in place of GPUs; 0 for one with whole GPUs, or none.
    """
    begins = [f"--job-name={spec.key}", f"--chdir={spec.directory}", f"--output={_literal(spec.directory)}/{LOG}"]
    return [*_command(site, spec, begins, shards), str(spec.directory)]


def array_argv(site: Site, specs: Sequence[Spec], name: str, folder: PurePath, shards: int = 0) -> list[str]:
    """Return the command for jobs with equal requests, one task each. None begins under this name.

    `folder` holds the links to their directories, by number.
    """
    begins = [f"--job-name={name}", f"--array=0-{len(specs) - 1}", f"--begin={NEVER}", f"--chdir={folder}"]
    return _command(site, specs[0], [*begins, f"--output={_literal(folder)}/%a/{LOG}"], shards)


def naming_commands(number: str, keys: Sequence[str]) -> str:
    """Return the input of scontrol: by one request, a task of an array gets the name of its job and may begin."""
    return "".join(f"update JobId={number}_{n} JobName={key} StartTime=now\n" for n, key in enumerate(keys))


def array_name(first: str) -> str:
    """Return the name of an array until its tasks have their own names, from the key of its first job."""
    return f"{first}-array"


def _literal(path: PurePath) -> str:
    """Escape %, which would be taken for a pattern."""
    return str(path).replace("%", "%%")


def _command(site: Site, spec: Spec, begins: Sequence[str], shards: int) -> list[str]:
    return [
        "sbatch",
        "--parsable",
        *begins,
        "--comment=esweb",
        "--open-mode=append",
        "--no-requeue",
        # Slurm never runs two jobs of one name concurrently.
        "--dependency=singleton",
        # Nothing of the submitting process reaches the job.
        "--export=NIL",
        f"--signal=B:USR1@{math.ceil(spec.grace_seconds)}",
        *_resource_options(site, spec, shards),
        *_placement_options(site, spec),
        str(spec.directory / SCRIPT_FILE),
        *site.modules,
        "--",
        *_agent_argv(site, spec),
    ]


def _resource_options(site: Site, spec: Spec, shards: int) -> list[str]:
    needs = [f"--nodes={spec.nodes}", "--ntasks-per-node=1", f"--cpus-per-task={spec.cores}"]
    if spec.nodes > 1:
        # The job goes on without a node that fails, unless it is the one of the training process.
        needs.append("--no-kill")
    if spec.gpus:
        name, amount = ("shard", shards) if shards else ("gpu", int(spec.gpus))
        needs.append("--gres=" + ":".join(filter(None, (name, spec.gpu_type or site.gpu_type, str(amount)))))
    if spec.memory_mb:
        needs.append(f"--mem={spec.memory_mb}M")
    if spec.time_limit_seconds:
        seconds = spec.time_limit_seconds + spec.grace_seconds + SPARE_SECONDS
        needs.append(f"--time={math.ceil(seconds / 60)}")
    elif site.time_limit_seconds:
        needs.append(f"--time={math.ceil(site.time_limit_seconds / 60)}")
    return needs


def _placement_options(site: Site, spec: Spec) -> list[str]:
    options = {
        "partition": spec.partition or site.partition,
        "account": site.account,
        "qos": site.qos,
        "constraint": site.constraint,
    }
    return [f"--{name}={value}" for name, value in options.items() if value]


def _agent_argv(site: Site, spec: Spec) -> list[str]:
    env = {
        "PYTHONPATH": site.project,
        "OMP_NUM_THREADS": str(spec.cores),
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        **site.env,
    }
    settings = [f"{name}={value}" for name, value in env.items()]
    return ["/usr/bin/env", *settings, site.python, "-m", "workers.agent"]
