"""The steps of a cluster's test. Each says what it found, or raises: Failed, NotYet, or what executors raise."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runs.clusters.executors import python_of
from runs.clusters.orphan_jobs import in_words, orphans
from runs.models import Cluster
from workers import records
from workers.attempt import read_json
from workers.executors.base import Executor, NotBegun, Spec, Unreachable
from workers.executors.diagnosis import diagnose
from workers.executors.mirror import mirrored
from workers.executors.places import Place
from workers.executors.starting import PROJECT
from workers.records import Environment, Status

SECONDS = 30.0
COMMANDS = ("sbatch", "squeue", "scancel", "sinfo")
KEYS_OF = {
    "slurm": {"reach": "address, key_file and known_hosts", "folder": "folder"},
    "ray": {"reach": "dashboard and token_file"},
}
"""Kind of cluster -> step -> the keys of its config to look at if that step fails."""
REACHED_BY = {"local": "reach", "slurm": "commands", "ray": "reach"}
"""Kind of cluster -> the step that is done once the cluster itself has replied."""


class Failed(Exception):
    """A step that failed, and why."""


class NotYet(Exception):
    """A step that is not over, and what it waits for."""


@dataclass(frozen=True)
class Trial:
    """A test's job: its key, and its directory here."""

    cluster: Cluster
    executor: Executor
    place: Place
    key: str
    directory: Path


def reach(trial: Trial) -> str:
    """A command runs there."""
    began = time.monotonic()
    trial.place.run(("true",), SECONDS)
    where = trial.cluster.config["address"] if trial.cluster.is_far else "this machine"
    return f"{where} answered in {time.monotonic() - began:.1f} s"


def ask(trial: Trial) -> str:
    """The cluster answers."""
    trial.executor.find(trial.key)
    return "it answers"


def commands(trial: Trial) -> str:
    """Slurm's commands are there."""
    for name in COMMANDS:
        try:
            answer = trial.place.run((name, "--version"), SECONDS)
        except NotBegun as error:
            raise Failed(f"{error}; it must be on the PATH of a login that is not interactive") from error
        if answer.code != 0:
            raise Failed(f"{name} --version: {answer.err.strip()[-300:]}")
    trial.executor.find(trial.key)
    return answer.out.strip()


def folder(trial: Trial) -> str:
    """A file that is written here can be read there."""
    trial.directory.mkdir(parents=True, exist_ok=True)
    file, word = trial.directory / "word.txt", secrets.token_hex(8)
    file.write_text(word)
    trial.place.send([file])
    there = trial.place.there(trial.directory)
    answer = trial.place.run(("cat", str(there / file.name)), SECONDS)
    if answer.out != word:
        raise Failed(f"what was written to {there} cannot be read there: {answer.err.strip()[-300:]}")
    return f"{there.parent.parent} can be written to"


def submit(trial: Trial) -> str:
    """The job is taken, once."""
    if (seen := trial.executor.find(trial.key)) is not None:
        return f"job {seen.native_id}"
    argv = (python_of(trial.cluster), "-m", "workers.client.trial")
    # On Slurm and here it is the agent's own, which its program inherits.
    env = {"PYTHONPATH": str(PROJECT)} if trial.cluster.kind == "ray" else {}
    spec = Spec(trial.key, trial.directory, argv, time_limit_seconds=120, env=env)
    return f"job {trial.executor.submit(spec)}"


def ran(trial: Trial) -> str:
    """The job has ended well."""
    try:
        seen = trial.executor.poll([trial.key])[trial.key]
    except Unreachable as error:
        raise NotYet(f"the cluster to answer: {error}") from error
    if (ending := read_json(trial.directory / "exit.json")) is None:
        if seen is not None and seen.state.is_final and not _may_still_come(trial):
            raise Failed(_why(trial) or seen.reason or seen.native)
        raise NotYet(seen.reason or f"the job to end: {seen.native}" if seen else "the job to appear")
    if ending.get("code") != 0:
        raise Failed(_why(trial) or f"it ended with exit code {ending.get('code')}: {_last_line(trial)}")
    return f"it ran for {ending['ended_at'] - ending['started_at']:.1f} s"


def came_back(trial: Trial) -> str:
    """Its records are here."""
    lines = _lines(trial)
    if len(lines) < 2:
        raise NotYet(f"its records: {len(lines)} of 2 are here")
    return f"{len(lines)} records, over SSH" if mirrored(trial.directory) else f"{len(lines)} records"


def environment(trial: Trial) -> str:
    """Python and torch work there."""
    said = next(r for r in _lines(trial) if isinstance(r, Environment))
    torch = next(r for r in _lines(trial) if isinstance(r, Status))
    if torch.phase == "failed":
        raise Failed(f"{said.python} on {said.node}: {torch.message}; see python, modules and env in its config")
    return f"{said.python}, {torch.message}, on {said.node}"


def strays(trial: Trial) -> str:
    """No job there bears our names that nobody here waits for. One that does is no fault of the cluster."""
    found = orphans(trial.cluster)
    return f"nobody here waits for {in_words(found)}; see ./manage.py cluster orphans" if found else "none"


Step = Callable[[Trial], str]
JOB: dict[str, Step] = {"submit": submit, "ran": ran, "records": came_back, "environment": environment}
STEPS: dict[str, dict[str, Step]] = {
    "local": {"reach": ask, **JOB},
    "slurm": {"reach": reach, "commands": commands, "folder": folder, **JOB, "orphans": strays},
    "ray": {"reach": ask, **JOB},
}
"""Kind of cluster -> its steps, in order."""


def _lines(trial: Trial) -> list[records.Record]:
    return [line.record for line in records.read(records.records_path(trial.directory, 0)).lines]


def _may_still_come(trial: Trial) -> bool:
    """A far directory is copied with the very answer that says that the job has ended; a shared one may lag a while."""
    if (copy := mirrored(trial.directory)) is not None:
        return copy.is_behind
    newest = max(path.stat().st_mtime for path in trial.directory.iterdir())
    return time.time() - newest < SECONDS and not _why(trial)


def _why(trial: Trial) -> str:
    return diagnose(trial.directory / "slurm.log", trial.directory / "log.txt")


def _last_line(trial: Trial) -> str:
    log = trial.directory / "log.txt"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return lines[-1][:300] if lines else "it said nothing"
