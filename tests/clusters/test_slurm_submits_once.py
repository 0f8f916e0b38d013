"""A submit creates one job whose program runs once, whichever process dies and whatever Slurm replies."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runs import launching
from runs.models import Cluster, Experiment
from tests.clusters.scripted_slurm import (
    BUSY,
    ScriptedSlurm,
    cluster_directory,
    impatient_host,
    launch_run,
    recorded_commands,
    set_timeouts,
    tick_run,
    wait_until_ended,
    wait_until_started,
)
from tests.clusters.slurm import SlurmCluster
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import python
from workers.executors.base import Rejected, Spec
from workers.executors.states import State

pytestmark = pytest.mark.soak

COUNTS = "open('ran', 'a').write('x')"


class Killed(BaseException):
    """Raised to simulate the worker dying at this line."""


def only_once(action: Callable[[], None]) -> Callable[[], None]:
    """Return a function that runs `action` the first time only."""
    remaining = [action]
    return lambda: remaining.pop()() if remaining else None


def die() -> None:
    raise Killed


def count_jobs(slurm: SlurmCluster, key: str) -> int:
    """Return the number of jobs of that name that Slurm has seen."""
    return slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").split().count(key)


@pytest.mark.parametrize(
    ("access_config", "hook"), [("here", "before_submit"), ("ssh", "after_submit")], indirect=["access_config"]
)
def test_killed_worker_submits_job_once(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, hook: str
) -> None:
    slurm_executor.program = COUNTS
    setattr(slurm_executor, hook, only_once(die))
    run = launch_run(experiment)
    with pytest.raises(Killed):
        launching.submit_job(attempt_of(run))
    ended = wait_until_ended(run, "succeeded", "failed", "lost")
    assert ended.state == State.SUCCEEDED.value
    assert (cluster_directory(ended) / "ran").read_text() == "x" and count_jobs(slurm, ended.key) == 1
    assert len(slurm_executor.submitted) == (2 if hook == "before_submit" else 1)


def test_job_accepted_by_frozen_controller_is_adopted(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    set_timeouts(ambiguous=PATIENCE_SECONDS)
    slurm_executor.program = COUNTS
    patient_host = slurm_executor.host

    def freeze() -> None:
        slurm.daemons.send("slurmctld", signal.SIGSTOP)
        slurm_executor.host = impatient_host(slurm)

    slurm_executor.before_submit = only_once(freeze)
    run = launch_run(experiment)
    launching.submit_job(attempt_of(run))
    unclear = attempt_of(run)
    assert unclear.state == State.SUBMITTING.value and "far did not confirm the job" in unclear.reason
    slurm.daemons.send("slurmctld", signal.SIGCONT)
    slurm_executor.host = patient_host
    ended = wait_until_ended(run, "succeeded", "failed", "lost")
    assert ended.state == State.SUCCEEDED.value and slurm_executor.submitted == [ended.key]
    assert (cluster_directory(ended) / "ran").read_text() == "x" and count_jobs(slurm, ended.key) == 1


def test_twice_submitted_job_runs_once(slurm_executor: ScriptedSlurm, slurm: SlurmCluster, tmp_path: Path) -> None:
    spec = Spec(f"esweb-{tmp_path.name}-a1", tmp_path / "runs" / "twice", tuple(python(COUNTS)))
    directory = Path(slurm_executor.host.cluster_path(spec.directory))
    slurm_executor.program = COUNTS
    with ThreadPoolExecutor(2) as threads:
        assert len(set(threads.map(slurm_executor.submit, [spec, spec]))) == 2
    assert count_jobs(slurm, spec.key) == 2
    query = ("squeue", "-h", "-t", "PD,R,CG", "-o", "%j")
    wait_until(lambda: not slurm.ask(*query), "both jobs to end", details=slurm.describe)
    assert (directory / "ran").read_text() == "x"
    observation = slurm_executor.find(spec.key)
    assert observation is not None and observation.state == State.SUCCEEDED
    assert "already claimed" in (directory / "slurm.log").read_text()


def test_refusal_names_choices_and_leaves_no_job(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, tmp_path: Path
) -> None:
    run = launch_run(experiment, gpus=99)
    refused = tick_run(run)
    assert refused.state == State.FAILED.value
    assert "refused it: Batch job submission failed: Requested node configuration is not available" in refused.reason
    assert count_jobs(slurm, refused.key) == 1 and slurm_executor.find(refused.key) is None
    executor = ScriptedSlurm(slurm.conf, tmp_path / "queue", slurm_executor.host, partition="nosuch")
    with pytest.raises(Rejected, match="there are high, low, lowgrace, main, short"):
        executor.submit(Spec("esweb-x-a1", tmp_path / "runs" / "x", ("true",)))


def test_stopped_controller_changes_no_job_state(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = BUSY
    run = launch_run(experiment)
    running = wait_until_started(run)
    slurm.stop_controller()
    patient_host, slurm_executor.host = slurm_executor.host, impatient_host(slurm)
    ticked = tick_run(run)
    assert ticked.state == running.state == State.RUNNING.value
    ticked.cluster.refresh_from_db()
    assert ticked.cluster.unreachable_since_at is not None and ticked.gone_since_at is None
    slurm.start_controller()
    slurm_executor.host = patient_host
    assert tick_until(run, "running", "lost").state == State.RUNNING.value


def test_silent_cluster_is_queried_once_per_tick(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm.daemons.send("slurmctld", signal.SIGSTOP)
    patient_host, slurm_executor.host = slurm_executor.host, impatient_host(slurm)
    runs = [launch_run(experiment) for _ in range(3)]
    recorded_commands.clear()
    tick_run(runs[0])
    assert [argv[0] for argv in recorded_commands] == ["squeue"]
    assert Cluster.objects.get(name="far").unreachable_since_at is not None
    slurm.daemons.send("slurmctld", signal.SIGCONT)
    slurm_executor.host = patient_host
    for run in runs:
        assert wait_until_ended(run, "succeeded", "failed").state == State.SUCCEEDED.value
