"""Slurm with accounting still reports jobs that the controller has forgotten, except those recorded as running."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clusters.scripted_slurm import BUSY, ScriptedSlurm
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until
from tests.workers.attempts import python
from workers.executors.base import Rejected, Spec
from workers.executors.states import State

pytestmark = pytest.mark.soak


def test_accounting_remembers_finished_job(slurm_with_accounting: SlurmCluster, tmp_path: Path) -> None:
    executor, spec = ScriptedSlurm(slurm_with_accounting.conf, tmp_path / "queue"), job(tmp_path, "ends")
    executor.program = "raise SystemExit(3)"
    executor.submit(spec)
    wait_until(
        lambda: _state(executor, spec) == State.FAILED, "the job to fail", details=slurm_with_accounting.describe
    )
    wait_until(
        lambda: _accounted_state(slurm_with_accounting, spec) == "FAILED",
        "the accounting to record that the job failed",
    )
    slurm_with_accounting.forget_jobs()
    assert not slurm_with_accounting.ask("squeue", "-h", "-t", "all", "-o", "%j")
    assert _state(executor, spec) == State.FAILED and executor.find("esweb-other-a1") is None


def test_lost_job_is_not_reported_as_running(slurm_with_accounting: SlurmCluster, tmp_path: Path) -> None:
    executor, spec = ScriptedSlurm(slurm_with_accounting.conf, tmp_path / "queue"), job(tmp_path, "lost")
    executor.submit(job(tmp_path, "before"))
    slurm_with_accounting.save_state()
    executor.program = BUSY
    executor.submit(spec)
    wait_until((spec.directory / "started").exists, "the job to start", details=slurm_with_accounting.describe)
    wait_until(
        lambda: _accounted_state(slurm_with_accounting, spec) == "RUNNING", "the accounting to record that the job runs"
    )
    slurm_with_accounting.restore_state()
    assert executor.find(spec.key) is None and _accounted_state(slurm_with_accounting, spec) == "RUNNING"


def test_unknown_account_is_refused_with_reason(slurm_with_accounting: SlurmCluster, tmp_path: Path) -> None:
    executor = ScriptedSlurm(slurm_with_accounting.conf, tmp_path / "queue", account="nolab")
    with pytest.raises(Rejected, match="Invalid account or account/partition combination specified"):
        executor.submit(job(tmp_path, "a"))


def job(folder: Path, name: str) -> Spec:
    return Spec(f"esweb-{name}-a1", folder / name, tuple(python("pass")))


def _state(executor: ScriptedSlurm, spec: Spec) -> State | None:
    return observation.state if (observation := executor.find(spec.key)) else None


def _accounted_state(slurm: SlurmCluster, spec: Spec) -> str:
    return slurm.ask("sacct", "-n", "-P", "-X", f"--name={spec.key}", "-o", "State").strip()
