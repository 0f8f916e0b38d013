"""Runs of a sweep on a fake Slurm: one array, each run one job whichever process dies meanwhile, few commands for
many runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone

from runs import launching
from runs.launching import reconcile
from runs.models import Attempt, Experiment, Run
from tests.clusters.fakes.far import HERE, ON_SLURM, Far
from tests.clusters.fakes.slurm import FakeSlurm
from tests.clusters.scripted_slurm import launch_sweep, set_timeouts
from tests.runs.local_cluster import attempt_of
from workers.executors.base import Unreachable
from workers.executors.shell import Reply
from workers.executors.slurm.executor import ARRAYS
from workers.executors.states import State

MANY, CANCELLED = 12, 5


class Killed(BaseException):
    """Raised to simulate the worker dying at this line."""


def die() -> None:
    raise Killed


def fall_silent() -> None:
    raise Unreachable("no answer")


def submits(far: Far) -> list[str]:
    """Return the first option of each sbatch since the commands were cleared."""
    return [argv[1] for argv in far.fake.commands if argv[0] == "sbatch"]


def run_to_the_end(far: Far, runs: list[Run]) -> None:
    """Let each run's only job start and succeed; check that there is none besides."""
    for run in runs:
        attempt = attempt_of(run)
        assert attempt.state == State.QUEUED.value, attempt.reason
        [job] = [job for job in far.fake.jobs_of(attempt.key) if job.is_open]
        assert job.native_id == attempt.native_id or attempt.submits
        far.fake.start(attempt.key)
        far.fake.finish(attempt.key)
    assert {attempt.state for attempt in far.tick(*runs)} == {State.SUCCEEDED.value}
    assert not [job for job in far.fake.jobs if job.is_open]


@ON_SLURM
def test_sweep_is_one_array_with_separate_cancels(far: Far, experiment: Experiment) -> None:
    runs = launch_sweep(experiment, 3)
    attempts = far.tick(*runs)
    assert submits(far) == ["--test-only", "--parsable"]
    assert [attempt.native_id for attempt in attempts] == ["1_0", "1_1", "1_2"]
    assert attempts[0].events.latest("pk").why == "submitted to far, in one array with 2 others of its sweep"
    [array] = far.directory(attempts[0]).parents[1].joinpath(ARRAYS).iterdir()
    assert [link.resolve() for link in sorted(array.iterdir())] == [far.directory(a).resolve() for a in attempts]
    for attempt in attempts[:2]:
        far.fake.start(attempt.key)
    far.tick()
    launching.request_cancel(runs[0], experiment.owner)
    launching.request_cancel(runs[2], experiment.owner)
    states = [attempt.state for attempt in far.tick(*runs)]
    assert states == ["running", "running", "cancelled"]
    assert [far.fake.running(a.key).signals for a in attempts[:2]] == [["TERM"], []]
    far.fake.finish(attempts[0].key, 75)
    assert far.tick(runs[0])[0].state == State.CANCELLED.value


def die_while_naming(slurm: FakeSlurm, lines: int) -> None:
    slurm.scontrol_lines, slurm.after["scontrol"] = lines, die


FAULTS: dict[str, Callable[[FakeSlurm], None]] = {
    "before sbatch": lambda slurm: slurm.before.update({"sbatch": die}),
    "after sbatch": lambda slurm: slurm.before.update({"scontrol": die}),
    "when one has a name": lambda slurm: die_while_naming(slurm, 1),
}


@HERE
@pytest.mark.parametrize("fault", list(FAULTS))
def test_killed_worker_submits_array_once(far: Far, experiment: Experiment, fault: str) -> None:
    runs = launch_sweep(experiment, 2)
    FAULTS[fault](far.fake)
    with pytest.raises(Killed):
        reconcile.reconcile_cluster(far.row)
    far.fake.scontrol_lines = 1000
    set_timeouts(ambiguous=0.0)
    far.tick()
    run_to_the_end(far, runs)
    assert Attempt.objects.count() == 2


@HERE
def test_tasks_without_names_are_cancelled_and_submitted_alone(far: Far, experiment: Experiment) -> None:
    """A controller that was killed may have lost the names of some tasks."""
    runs = launch_sweep(experiment, 3)
    far.fake.scontrol_lines = 1
    far.tick()
    assert submits(far) == ["--test-only", "--parsable", "--parsable", "--parsable"]
    assert [job.state for job in far.fake.jobs[:3]] == ["PENDING", "CANCELLED", "CANCELLED"]
    run_to_the_end(far, runs)


@HERE
def test_array_whose_naming_is_not_answered_is_looked_for(far: Far, experiment: Experiment) -> None:
    runs = launch_sweep(experiment, 2)
    far.fake.after["scontrol"] = fall_silent
    [first, _] = far.tick(*runs)
    assert first.state == State.SUBMITTING.value
    assert first.reason == "far did not confirm the job: array 1 could not be renamed: no answer"
    far.tick()
    run_to_the_end(far, runs)
    assert submits(far) == ["--test-only", "--parsable"]


@HERE
def test_sweep_is_submitted_as_array_after_silence(far: Far, experiment: Experiment) -> None:
    runs = launch_sweep(experiment, 2)
    far.fake.before["squeue"] = fall_silent
    [first, _] = far.tick(*runs)
    assert (first.state, first.reason) == (State.SUBMITTING.value, "far does not reply: no answer")
    assert submits(far) == []
    far.tick()
    run_to_the_end(far, runs)
    assert submits(far) == ["--test-only", "--parsable"]


@HERE
def test_refused_array_is_submitted_as_single_jobs(far: Far, experiment: Experiment) -> None:
    runs = launch_sweep(experiment, 2, gpus=99)
    refused = far.tick(*runs)
    assert {attempt.state for attempt in refused} == {State.FAILED.value}
    assert all("Requested node configuration is not available" in attempt.reason for attempt in refused)
    assert submits(far) == ["--test-only", "--parsable", "--parsable"]


@HERE
def test_unclear_answer_about_an_array_leaves_it_open(far: Far, experiment: Experiment) -> None:
    runs = launch_sweep(experiment, 2)
    far.fake.replies["sbatch"] = Reply(1, "", "sbatch: error: Socket timed out\n")
    attempts = far.tick(*runs)
    assert {attempt.state for attempt in attempts} == {State.SUBMITTING.value} and not far.fake.jobs
    assert attempts[1].reason == "far did not confirm the job: sbatch: sbatch: error: Socket timed out"


@HERE
def test_jobs_that_the_cluster_has_are_not_submitted_again(far: Far, experiment: Experiment) -> None:
    """As after the database was restored."""
    runs = launch_sweep(experiment, 3)
    far.fake.add(attempt_of(runs[0]).key)
    far.tick()
    assert len(far.fake.jobs_of(attempt_of(runs[0]).key)) == 1 and attempt_of(runs[0]).state == State.RUNNING.value
    assert [attempt_of(run).native_id for run in runs[1:]] == ["2_0", "2_1"]


@HERE
def test_runs_of_a_sweep_on_several_nodes_are_separate_jobs(far: Far, experiment: Experiment) -> None:
    runs = launch_sweep(experiment, 2, nodes=2)
    far.tick()
    argvs = [argv for argv in far.fake.commands if argv[0] == "sbatch"]
    assert len(argvs) == 2 and not [word for argv in argvs for word in argv if "--array" in word]
    assert all("--nodes=2" in argv and "--no-kill" in argv for argv in argvs)
    assert len({attempt_of(run).native_id for run in runs}) == 2


@HERE
def test_tick_queries_slurm_once_for_many_attempts(far: Far, experiment: Experiment, site_disk: Path) -> None:
    runs = launch_sweep(experiment, MANY)
    far.tick()
    assert submits(far) == ["--test-only", "--parsable"]
    far.fake.commands.clear()
    attempts = far.tick(*runs)
    assert [argv[0] for argv in far.fake.commands] == ["squeue"]
    assert {(a.state, a.native_state, a.gone_since_at) for a in attempts} == {("queued", "PENDING", None)}
    assert all(attempt.reason.startswith("waiting: ") for attempt in attempts)
    running = far.fake.start(attempts[0].key)
    far.tick()
    Attempt.objects.filter(pk__in=[a.pk for a in attempts[:CANCELLED]]).update(cancel_requested_at=timezone.now())
    far.fake.commands.clear()
    states = [attempt.state for attempt in far.tick(*runs)]
    # Waiting jobs leave the queue first: they would start in place of those that stop.
    assert [argv[0] for argv in far.fake.commands] == ["xargs", "xargs", "squeue"]
    assert "--state=PENDING" in far.fake.commands[0] and "--signal=TERM" in far.fake.commands[1]
    assert states.count("cancelled") == CANCELLED - 1 and states.count("queued") == MANY - CANCELLED
    assert (states[0], running.signals) == ("running", ["TERM"])
