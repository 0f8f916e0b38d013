"""Steps of a cluster's test. Each returns its result, or raises StepFailed, StepPending or an executor's error."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from runs.clusters.connection_test.gpu_training import train_on_gpu
from runs.clusters.connection_test.trial import SECONDS, StepFailed, StepPending, Trial, check_ending, read_records
from runs.clusters.executors import python_of
from runs.clusters.inventory import describe_shapes, refresh_inventory
from runs.clusters.orphan_jobs import describe_jobs, find_orphans
from workers.executors.agent_start import PROJECT
from workers.executors.base import NotBegun, Spec
from workers.executors.mirror import read_state
from workers.records import Environment, Status

COMMANDS = ("sbatch", "squeue", "scancel", "sinfo")
KEYS_OF = {
    "slurm": {"reach": "address, key_file and known_hosts", "folder": "folder"},
    "ray": {"reach": "dashboard and token_file"},
}
"""Maps a kind of cluster to steps, and each step to the config keys to check if it fails."""
REACHED_BY = {"local": "reach", "slurm": "commands", "ray": "reach"}
"""Maps a kind of cluster to the step after which the cluster itself has replied."""


def check_command(trial: Trial) -> str:
    """Check that a command runs on the cluster."""
    began = time.monotonic()
    trial.host.run(("true",), SECONDS)
    host_name = trial.cluster.config["address"] if trial.cluster.is_remote else "this machine"
    return f"{host_name} replied in {time.monotonic() - began:.1f} s"


def check_reply(trial: Trial) -> str:
    """Check that the cluster replies."""
    trial.executor.find(trial.key)
    return "it replies"


def read_nodes(trial: Trial) -> str:
    """Read the cluster's nodes, against which launches are checked."""
    try:
        shapes = refresh_inventory(trial.cluster)
    except ValueError as error:
        raise StepFailed(str(error)) from error
    if not shapes:
        return "it lists no nodes, so launches are not checked against them"
    return describe_shapes(shapes)


def check_slurm(trial: Trial) -> str:
    """Check that Slurm's commands are installed and that Slurm replies."""
    for name in COMMANDS:
        try:
            answer = trial.host.run((name, "--version"), SECONDS)
        except NotBegun as error:
            raise StepFailed(f"{error}; it must be on the PATH of a non-interactive login") from error
        if answer.code != 0:
            raise StepFailed(f"{name} --version: {answer.err.strip()[-300:]}")
    trial.executor.find(trial.key)
    return answer.out.strip()


def check_folder(trial: Trial) -> str:
    """Check that the cluster can read a file that this machine writes."""
    trial.directory.mkdir(parents=True, exist_ok=True)
    file, word = trial.directory / "word.txt", secrets.token_hex(8)
    file.write_text(word)
    trial.host.send([file])
    there = trial.host.cluster_path(trial.directory)
    answer = trial.host.run(("cat", str(there / file.name)), SECONDS)
    if answer.out != word:
        raise StepFailed(f"a file written to {there} cannot be read there: {answer.err.strip()[-300:]}")
    return f"{there.parent.parent} is writable"


def submit_job(trial: Trial) -> str:
    """Submit the job, unless the cluster already has it."""
    if (seen := trial.executor.find(trial.key)) is not None:
        return f"job {seen.native_id}"
    argv = (python_of(trial.cluster), "-m", "workers.client.trial")
    # On Slurm and on this machine, the program inherits the agent's own PYTHONPATH.
    env = {"PYTHONPATH": str(PROJECT)} if trial.cluster.kind == "ray" else {}
    spec = Spec(trial.key, trial.directory, argv, time_limit_seconds=120, env=env)
    return f"job {trial.executor.submit(spec)}"


def check_exit(trial: Trial) -> str:
    """Check that the job ran and ended with exit code 0."""
    return f"it ran for {check_ending(trial):.1f} s"


def check_records(trial: Trial) -> str:
    """Check that the job's two records have arrived on this machine."""
    lines = read_records(trial)
    if len(lines) < 2:
        raise StepPending(f"its records: {len(lines)} of 2 have arrived")
    return f"{len(lines)} records, over SSH" if read_state(trial.directory) else f"{len(lines)} records"


def check_environment(trial: Trial) -> str:
    """Check that Python and torch work on the node."""
    recorded = next(r for r in read_records(trial) if isinstance(r, Environment))
    torch = next(r for r in read_records(trial) if isinstance(r, Status))
    if torch.phase == "failed":
        raise StepFailed(
            f"{recorded.python} on {recorded.node}: {torch.message}; see python, modules and env in its config"
        )
    return f"{recorded.python}, {torch.message}, on {recorded.node}"


def report_orphans(trial: Trial) -> str:
    """Report orphan jobs: those on the cluster with esweb's names that this site does not know. They fail no step."""
    jobs = find_orphans(trial.cluster)
    return f"no run here belongs to {describe_jobs(jobs)}; see ./manage.py cluster orphans" if jobs else "none"


Step = Callable[[Trial], str]
JOB_STEPS: dict[str, Step] = {
    "submit": submit_job,
    "ran": check_exit,
    "records": check_records,
    "environment": check_environment,
}
STEPS: dict[str, dict[str, Step]] = {
    "local": {"reach": check_reply, "nodes": read_nodes, **JOB_STEPS, "gpu": train_on_gpu},
    "slurm": {
        "reach": check_command,
        "commands": check_slurm,
        "nodes": read_nodes,
        "folder": check_folder,
        **JOB_STEPS,
        "orphans": report_orphans,
    },
    "ray": {"reach": check_reply, "nodes": read_nodes, **JOB_STEPS},
}
"""Maps a kind of cluster to its steps, in order."""
