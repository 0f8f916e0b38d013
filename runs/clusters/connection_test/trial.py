"""A job of a cluster's test: its directory, what it records, and how it ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from runs.models import Cluster
from workers import records
from workers.attempt import read_json
from workers.executors.base import Executor, Unreachable
from workers.executors.diagnosis import diagnose
from workers.executors.mirror import read_state
from workers.executors.submit_hosts import SubmitHost

SECONDS = 30.0


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

    def second_job(self) -> Trial:
        """Return the test's second job, which has a directory of its own beside the first."""
        key = f"{self.key}2"
        return replace(self, key=key, directory=self.directory.with_name(key))


def check_ending(trial: Trial) -> float:
    """Check that the job ran and ended with exit code 0. Return the seconds for which it ran."""
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
    return float(ending["ended_at"] - ending["started_at"])


def read_records(trial: Trial) -> list[records.Record]:
    """Return the records of the job that have arrived."""
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
