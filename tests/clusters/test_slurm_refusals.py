"""A real Slurm refuses jobs: by limits on submitted jobs, by a plug-in, and because it stores no more jobs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from runs.models import Attempt, Experiment
from tests.clusters.scripted_slurm import BUSY, ScriptedSlurm, launch_run, recorded_commands, tick_run
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import REFUSAL, REFUSED_ACCOUNT, has_lua_plugin
from tests.runs.local_cluster import attempt_of, tick_until
from tests.tools import not_installed
from tests.waiting import wait_until
from workers.executors.base import Postponed, Spec
from workers.executors.states import Obstacle, State

pytestmark = pytest.mark.soak
LIMITS = (
    (
        ("qos", "normal"),
        "MaxSubmitJobsPerUser",
        "its QOS takes no more jobs of this user (Slurm: QOSMaxSubmitJobPerUserLimit)",
    ),
    (("qos", "normal"), "GrpSubmitJobs", r"its QOS takes no more jobs (Slurm: QOSGrpSubmitJobsLimit"),
    (("user", "root"), "MaxSubmitJobs", "the limit of this user's submitted jobs is reached (Slurm: AssocMaxSubmitJob"),
    (("account", "lab"), "GrpSubmitJobs", "the limit of its account's submitted jobs is reached (Slurm: AssocGrpSubmi"),
)


def test_limits_on_submitted_jobs_pass_when_a_job_ends(slurm_with_accounting: SlurmCluster, tmp_path: Path) -> None:
    slurm = slurm_with_accounting
    executor = ScriptedSlurm(slurm.conf, tmp_path / "queue", account="lab")
    executor.program = BUSY
    for number, (owner, limit, reason) in enumerate(LIMITS):
        slurm.ask("sacctmgr", "-i", "modify", *owner, "set", f"{limit}=1")
        first, second, third = (job(tmp_path, f"{name}{number}") for name in "abc")
        executor.submit(first)
        for together in (False, True):
            with pytest.raises(Postponed) as raised:
                executor.submit_together([second, third]) if together else executor.submit(second)
            assert str(raised.value).startswith(reason) and raised.value.obstacle == Obstacle.ROOM
        assert executor.poll([second.key, third.key]) == {second.key: None, third.key: None}
        slurm.cancel_all()
        # An ended job counts until the controller has seen its end.
        wait_until(partial(is_taken, executor, second), f"{limit} to leave room")
        slurm.cancel_all()
        slurm.ask("sacctmgr", "-i", "modify", *owner, "set", f"{limit}=-1")


@pytest.mark.skipif(not has_lua_plugin(), reason=not_installed("Slurm", " (no job_submit/lua)"))
def test_refusal_of_a_plugin_ends_the_run_in_its_words(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.site = type(slurm_executor.site)(account=REFUSED_ACCOUNT)
    run = launch_run(experiment, restarts=1)
    refused = tick_run(run)
    assert (refused.state, refused.submits) == (State.FAILED.value, 1)
    assert refused.reason == f"far refused it: {REFUSAL}; Batch job submission failed: Unspecified error"
    names = [argv[0] for argv in recorded_commands]
    assert names.count("sbatch") == 1 and names[names.index("sbatch") + 1] == "squeue"
    assert refused.key not in slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").split()


def test_controller_that_stores_no_more_jobs_takes_the_run_later(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = launch_run(experiment), launch_run(experiment)
    # sbatch itself would repeat its request for two minutes.
    monkeypatch.setattr("workers.executors.slurm.executor.TIMEOUT_SECONDS", 1.0)
    slurm_executor.submit(Spec("esweb-before-a1", slurm.root / "before", ("true",)))
    slurm.set_max_jobs(1)
    try:
        waiting = tick_run(first)
        assert waiting.reason.startswith(
            "far did not confirm the job: sbatch did not answer within 1 s: sbatch: error: "
        )
        assert "temporarily unable to accept job" in waiting.reason and waiting.obstacle == Obstacle.ROOM.value
        recorded_commands.clear()
        assert tick_run(second).reason.startswith("waiting behind run far away: far did not confirm the job")
        assert "sbatch" not in [argv[0] for argv in recorded_commands]
    finally:
        slurm.set_max_jobs()
    monkeypatch.undo()
    Attempt.objects.update(submit_again_at=None)
    for run in (first, second):
        tick_until(run, "queued", "starting", "running", "succeeded")
    names = slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").split()
    assert [names.count(attempt_of(run).key) for run in (first, second)] == [1, 1]


def job(folder: Path, name: str) -> Spec:
    return Spec(f"esweb-{name}-a1", folder / "runs" / name / f"esweb-{name}-a1", ("true",))


def is_taken(executor: ScriptedSlurm, spec: Spec) -> bool:
    """Submit the job; return False if Slurm refuses it for now."""
    try:
        executor.submit(spec)
    except Postponed:
        return False
    return True
