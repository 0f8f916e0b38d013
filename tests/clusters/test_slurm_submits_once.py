"""Whoever dies around a submit, and whatever Slurm answers: one job, and its program runs once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runs import launching
from runs.models import Cluster, Experiment
from tests.clusters.far_slurm import (
    BUSY,
    Far,
    asked,
    await_end,
    be_patient,
    impatient,
    run_far,
    started,
    there,
    tick_far,
)
from tests.clusters.slurm import SlurmCluster
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import python
from workers.executors.base import Rejected, Spec
from workers.executors.states import State

COUNTS = "open('ran', 'a').write('x')"


class Killed(BaseException):
    """Stands for the worker dying at this line."""


def once(then: Callable[[], None]) -> Callable[[], None]:
    """Does it the first time only."""
    left = [then]
    return lambda: left.pop()() if left else None


def die() -> None:
    raise Killed


def jobs_of(slurm: SlurmCluster, key: str) -> int:
    """How many jobs of that name Slurm has seen."""
    return slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").split().count(key)


@pytest.mark.parametrize(
    ("reached", "moment"), [("here", "before_submit"), ("ssh", "after_submit")], indirect=["reached"]
)
def test_a_worker_that_dies_around_sbatch_costs_nothing(
    experiment: Experiment, far: Far, slurm: SlurmCluster, moment: str
) -> None:
    far.program = COUNTS
    setattr(far, moment, once(die))
    run = run_far(experiment)
    with pytest.raises(Killed):
        launching.submit_job(attempt_of(run))
    ended = await_end(run, "succeeded", "failed", "lost")
    assert ended.state == State.SUCCEEDED.value
    assert (there(ended) / "ran").read_text() == "x" and jobs_of(slurm, ended.key) == 1
    assert len(far.submitted) == (2 if moment == "before_submit" else 1)


def test_a_frozen_controller_that_took_the_job_all_the_same_is_found_out(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    be_patient(ambiguous=PATIENCE_SECONDS)
    far.program = COUNTS
    patient = far.place

    def freeze() -> None:
        slurm.daemons.send("slurmctld", signal.SIGSTOP)
        far.place = impatient(slurm)

    far.before_submit = once(freeze)
    run = run_far(experiment)
    launching.submit_job(attempt_of(run))
    unclear = attempt_of(run)
    assert unclear.state == State.SUBMITTING.value and "did not say whether it took the job" in unclear.reason
    slurm.daemons.send("slurmctld", signal.SIGCONT)
    far.place = patient
    ended = await_end(run, "succeeded", "failed", "lost")
    assert ended.state == State.SUCCEEDED.value and far.submitted == [ended.key]
    assert (there(ended) / "ran").read_text() == "x" and jobs_of(slurm, ended.key) == 1


def test_of_a_job_that_is_submitted_twice_one_runs(far: Far, slurm: SlurmCluster, tmp_path: Path) -> None:
    spec = Spec(f"esweb-{tmp_path.name}-a1", tmp_path / "runs" / "twice", tuple(python(COUNTS)))
    directory = Path(far.place.there(spec.directory))
    far.program = COUNTS
    with ThreadPoolExecutor(2) as both:
        assert len(set(both.map(far.submit, [spec, spec]))) == 2
    assert jobs_of(slurm, spec.key) == 2
    still_open = ("squeue", "-h", "-t", "PD,R,CG", "-o", "%j")
    wait_until(lambda: not slurm.ask(*still_open), "both jobs to end", details=slurm.told)
    assert (directory / "ran").read_text() == "x"
    seen = far.find(spec.key)
    assert seen is not None and seen.state == State.SUCCEEDED
    assert "already claimed" in (directory / "slurm.log").read_text()


def test_a_refusal_names_what_there_is_and_its_ghost_is_no_job(
    experiment: Experiment, far: Far, slurm: SlurmCluster, tmp_path: Path
) -> None:
    run = run_far(experiment, gpus=99)
    refused = tick_far(run)
    assert refused.state == State.FAILED.value
    assert "refused it: Batch job submission failed: Requested node configuration is not available" in refused.reason
    assert jobs_of(slurm, refused.key) == 1 and far.find(refused.key) is None
    nowhere = Far(slurm.conf, tmp_path / "queue", far.place, partition="nosuch")
    with pytest.raises(Rejected, match="there are high, low, lowgrace, main, short"):
        nowhere.submit(Spec("esweb-x-a1", tmp_path / "runs" / "x", ("true",)))


def test_a_controller_that_is_down_says_nothing_about_jobs(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    far.program = BUSY
    run = run_far(experiment)
    before = started(run)
    slurm.stop_controller()
    patient, far.place = far.place, impatient(slurm)
    after = tick_far(run)
    assert after.state == before.state == State.RUNNING.value
    after.cluster.refresh_from_db()
    assert after.cluster.unreachable_since_at is not None and after.gone_since_at is None
    slurm.start_controller()
    far.place = patient
    assert tick_until(run, "running", "lost").state == State.RUNNING.value


def test_a_silent_cluster_is_asked_once_a_tick_however_many_are_to_be_submitted(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    slurm.daemons.send("slurmctld", signal.SIGSTOP)
    patient, far.place = far.place, impatient(slurm)
    runs = [run_far(experiment) for _ in range(3)]
    asked.clear()
    tick_far(runs[0])
    assert [argv[0] for argv in asked] == ["squeue"]
    assert Cluster.objects.get(name="far").unreachable_since_at is not None
    slurm.daemons.send("slurmctld", signal.SIGCONT)
    far.place = patient
    for run in runs:
        assert await_end(run, "succeeded", "failed").state == State.SUCCEEDED.value
