"""Steps of a cluster's test. Each returns its result as text, or raises Failed, NotYet or an executor's error."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runs.clusters.executors import python_of
from runs.clusters.inventory import describe_shapes, refresh_inventory
from runs.clusters.orphan_jobs import describe_jobs, find_orphans
from runs.models import Cluster
from workers import records
from workers.attempt import read_json
from workers.executors.agent_start import PROJECT
from workers.executors.base import Executor, NotBegun, Spec, Unreachable
from workers.executors.diagnosis import diagnose
from workers.executors.mirror import read_state
from workers.executors.submit_hosts import SubmitHost
from workers.records import Environment, Status

SECONDS = 30.0
COMMANDS = ("sbatch", "squeue", "scancel", "sinfo")
KEYS_OF = {
    "slurm": {"reach": "address, key_file and known_hosts", "folder": "folder"},
    "ray": {"reach": "dashboard and token_file"},
}
"""Maps a kind of cluster to steps, and each step to the config keys to check if it fails."""
REACHED_BY = {"local": "reach", "slurm": "commands", "ray": "reach"}
"""Maps a kind of cluster to the step after which the cluster itself has replied."""


class StepFailed(Exception):
    """An error for a step that fails. The message gives the reason."""


class StepPending(Exception):
    """An error for a step that is not finished. The message names what it waits for."""


@dataclass(frozen=True)
class Trial:
    """A test's job: its cluster, its key, and its directory on this machine."""

    cluster: Cluster
    executor: Executor
    host: SubmitHost
    key: str
    directory: Path


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
    try:
        seen = trial.executor.poll([trial.key])[trial.key]
    except Unreachable as error:
        raise StepPending(f"the cluster to reply: {error}") from error
    if (ending := read_json(trial.directory / "exit.json")) is None:
        if seen is not None and seen.state.is_final and not _may_still_arrive(trial):
            raise StepFailed(_diagnosis(trial) or seen.reason or seen.native)
        raise StepPending(seen.reason or f"the job to end: {seen.native}" if seen else "the job to appear")
    if ending.get("code") != 0:
        raise StepFailed(_diagnosis(trial) or f"it ended with exit code {ending.get('code')}: {_last_line(trial)}")
    return f"it ran for {ending['ended_at'] - ending['started_at']:.1f} s"


def check_records(trial: Trial) -> str:
    """Check that the job's two records have arrived on this machine."""
    lines = _lines(trial)
    if len(lines) < 2:
        raise StepPending(f"its records: {len(lines)} of 2 have arrived")
    return f"{len(lines)} records, over SSH" if read_state(trial.directory) else f"{len(lines)} records"


def check_environment(trial: Trial) -> str:
    """Check that Python and torch work on the node."""
    recorded = next(r for r in _lines(trial) if isinstance(r, Environment))
    torch = next(r for r in _lines(trial) if isinstance(r, Status))
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
    "local": {"reach": check_reply, "nodes": read_nodes, **JOB_STEPS},
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


def _lines(trial: Trial) -> list[records.Record]:
    return [line.record for line in records.read(records.records_path(trial.directory, 0)).lines]


def _may_still_arrive(trial: Trial) -> bool:
    """Return whether the exit record may still arrive after the cluster reports the job's end.

    A remote directory is copied together with that report; a shared one may lag for up to SECONDS.
    """
    if (copy := read_state(trial.directory)) is not None:
        return copy.is_behind
    newest = max(path.stat().st_mtime for path in trial.directory.iterdir())
    return time.time() - newest < SECONDS and not _diagnosis(trial)


def _diagnosis(trial: Trial) -> str:
    return diagnose(trial.directory / "slurm.log", trial.directory / "log.txt")


def _last_line(trial: Trial) -> str:
    log = trial.directory / "log.txt"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return lines[-1][:300] if lines else "no output"
