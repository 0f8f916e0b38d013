"""With accounting, what the controller has forgotten is still known, but for jobs that it calls running for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clusters.far_slurm import BUSY, Far
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until
from tests.workers.attempts import python
from workers.executors.base import Rejected, Spec
from workers.executors.states import State


def test_an_end_is_known_after_the_controller_has_forgotten_it(accounted: SlurmCluster, tmp_path: Path) -> None:
    far, spec = Far(accounted.conf, tmp_path / "queue"), job(tmp_path, "ends")
    far.program = "raise SystemExit(3)"
    far.submit(spec)
    wait_until(lambda: _state(far, spec) == State.FAILED, "the job to fail", details=accounted.told)
    wait_until(lambda: _accounted(accounted, spec) == "FAILED", "the accounting to record that the job failed")
    accounted.forget_jobs()
    assert not accounted.ask("squeue", "-h", "-t", "all", "-o", "%j")
    assert _state(far, spec) == State.FAILED and far.find("esweb-other-a1") is None


def test_a_job_that_the_controller_has_lost_is_not_believed_to_run(accounted: SlurmCluster, tmp_path: Path) -> None:
    far, spec = Far(accounted.conf, tmp_path / "queue"), job(tmp_path, "lost")
    far.submit(job(tmp_path, "before"))
    accounted.save_state()
    far.program = BUSY
    far.submit(spec)
    wait_until((spec.directory / "started").exists, "the job to start", details=accounted.told)
    wait_until(lambda: _accounted(accounted, spec) == "RUNNING", "the accounting to record that the job runs")
    accounted.go_back()
    assert far.find(spec.key) is None and _accounted(accounted, spec) == "RUNNING"


def test_an_account_that_is_none_is_refused_in_words(accounted: SlurmCluster, tmp_path: Path) -> None:
    far = Far(accounted.conf, tmp_path / "queue", account="nolab")
    with pytest.raises(Rejected, match="Invalid account or account/partition combination specified"):
        far.submit(job(tmp_path, "a"))


def job(folder: Path, name: str) -> Spec:
    return Spec(f"esweb-{name}-a1", folder / name, tuple(python("pass")))


def _state(far: Far, spec: Spec) -> State | None:
    return seen.state if (seen := far.find(spec.key)) else None


def _accounted(slurm: SlurmCluster, spec: Spec) -> str:
    return slurm.ask("sacct", "-n", "-P", "-X", f"--name={spec.key}", "-o", "State").strip()
