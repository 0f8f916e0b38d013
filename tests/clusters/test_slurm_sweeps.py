"""Runs of a sweep are submitted to Slurm as one array, and each is one job, whichever process dies meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from runs import launching
from runs.launching import reconcile
from runs.launching.sweeps.commands import unpause_sweep
from runs.launching.sweeps.pause import pause_sweep, withdraw_sweep
from runs.models import Attempt, Cluster, Experiment, Hold
from tests.clusters.scripted_slurm import (
    ScriptedSlurm,
    cluster_directory,
    launch_sweep,
    recorded_commands,
    tick_run,
    wait_until_ended,
)
from tests.clusters.slurm import SlurmCluster
from tests.clusters.test_slurm_submits_once import COUNTS, Killed, count_jobs, die, only_once
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS
from workers.executors.base import Unreachable
from workers.executors.shell import Reply
from workers.executors.states import State
from workers.executors.submit_hosts import SharedDisk

pytestmark = pytest.mark.soak


def sbatch_options() -> list[str]:
    """Return the first option of each sbatch since the recorded commands were cleared."""
    return [argv[1] for argv in recorded_commands if argv[0] == "sbatch"]


def test_sweep_is_one_array_with_separate_cancels(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = CHECKPOINTS
    runs = launch_sweep(experiment, 4, cores=4)
    recorded_commands.clear()
    tick_run(runs[0])
    assert sbatch_options() == ["--test-only", "--parsable"]
    numbers = [attempt_of(run).native_id for run in runs]
    assert len({number.partition("_")[0] for number in numbers}) == 1 and len(set(numbers)) == 4
    for run in runs:
        assert count_jobs(slurm, attempt_of(run).key) == 1
    busy = wait_until(
        lambda: len(running := [run for run in runs if tick_run(run).state == "running"]) == 3 and running,
        "three of the four runs to run",
        details=slurm.describe,
    )
    (waiting,) = set(runs) - set(busy)
    wait_until((cluster_directory(attempt_of(busy[0])) / "started").exists, "the program to start")
    # The waiting run is cancelled first: otherwise it would start instead of the other.
    launching.request_cancel(waiting, experiment.owner)
    cancelled = tick_until(waiting, "cancelled", "failed", "interrupted")
    launching.request_cancel(busy[0], experiment.owner)
    ended = tick_until(busy[0], "cancelled", "failed", "interrupted")
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert cancelled.state == State.CANCELLED.value and not (cluster_directory(cancelled) / "started").exists()
    assert {tick_run(run).state for run in busy[1:]} == {State.RUNNING.value}


def test_pending_jobs_of_a_paused_sweep_leave_the_queue_until_it_is_resumed(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = CHECKPOINTS
    runs = launch_sweep(experiment, 5, cores=4)
    sweep = runs[0].sweep
    busy = wait_until(
        lambda: len(running := [run for run in runs if tick_run(run).state == "running"]) == 3 and running,
        "three of the five runs to run",
        details=slurm.describe,
    )
    waiting = [run for run in runs if run not in busy]
    assert sweep is not None and pause_sweep(sweep)
    keys = [attempt_of(run).key for run in waiting]
    withdraw_sweep(sweep)
    wait_until(
        lambda: all(tick_run(run).hold == Hold.SWEEP for run in waiting), "the waiting runs to leave the queue",
        details=slurm.describe,
    )  # fmt: skip
    assert [slurm_executor.find(key).state for key in keys] == [State.CANCELLED] * 2
    launching.request_cancel(busy[0], experiment.owner)
    tick_until(busy[0], "cancelled")
    assert {tick_run(run).state for run in waiting} == {State.CREATED.value}
    assert {tick_run(run).state for run in busy[1:]} == {State.RUNNING.value}
    assert unpause_sweep(sweep)
    tick_until(waiting[0], "running")
    assert attempt_of(waiting[0]).n == 2 and tick_run(waiting[1]).state == State.QUEUED.value


class DyingHost(SharedDisk):
    """Slurm's commands here, with a worker that dies while tasks get their names, after so many lines of input."""

    lines: int | None = None

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run the command, or a part of its input and raise Killed."""
        if argv[0] != "scontrol" or self.lines is None:
            return super().run(argv, timeout_seconds, text)
        sent_text, DyingHost.lines = "".join(text.splitlines(keepends=True)[: self.lines]), None
        super().run(argv, timeout_seconds, sent_text)
        raise Killed


def die_while_naming(executor: ScriptedSlurm, lines: int) -> None:
    executor.host, DyingHost.lines = DyingHost(executor.host.shell), lines  # type: ignore[attr-defined]


FAULTS: dict[str, Callable[[ScriptedSlurm], None]] = {
    "before sbatch": lambda slurm: setattr(slurm, "before_submit", only_once(die)),
    "before any task has a name": lambda slurm: die_while_naming(slurm, 0),
    "when one has a name": lambda slurm: die_while_naming(slurm, 1),
    "after sbatch": lambda slurm: setattr(slurm, "after_submit", only_once(die)),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_killed_worker_submits_array_once(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, fault: str
) -> None:
    slurm_executor.program = COUNTS
    runs = launch_sweep(experiment, 2)
    FAULTS[fault](slurm_executor)
    with pytest.raises(Killed):
        reconcile.reconcile_cluster(Cluster.objects.get(name="far"))
    for run in runs:
        ended = wait_until_ended(run, "succeeded", "failed", "lost")
        assert ended.state == State.SUCCEEDED.value, ended.reason
        assert (cluster_directory(ended) / "ran").read_text() == "x" and count_jobs(slurm, ended.key) == 1
    assert Attempt.objects.count() == 2
    assert not slurm.ask("squeue", "-h", "-t", "PD,R", "-o", "%j")


class SavingHost(SharedDisk):
    """Slurm's commands here. The controller saves its jobs when the first task of an array has just got its name."""

    slurm: SlurmCluster

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run the command."""
        if argv[0] != "scontrol":
            return super().run(argv, timeout_seconds, text)
        first, *others = text.splitlines(keepends=True)
        super().run(argv, timeout_seconds, first)
        self.slurm.save_state()
        return super().run(argv, timeout_seconds, "".join(others))


def test_array_survives_loss_of_its_tasks_names(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    """A controller that is killed loses later requests: no task may be left that has its name and cannot begin."""
    slurm_executor.program, slurm_executor.after_submit = COUNTS, only_once(slurm.restore_state)
    slurm_executor.host, SavingHost.slurm = SavingHost(slurm_executor.host.shell), slurm  # type: ignore[attr-defined]
    runs = launch_sweep(experiment, 2, restarts=4)
    reconcile.reconcile_cluster(Cluster.objects.get(name="far"))
    slurm_executor.host = SharedDisk(slurm_executor.host.shell)  # type: ignore[attr-defined]
    for run in runs:
        ended = tick_until(run, "succeeded", "failed")
        assert ended.state == State.SUCCEEDED.value, ended.reason
        assert (cluster_directory(ended) / "ran").read_text() == "x"


class SilentHost(SharedDisk):
    """A host that gives no reply the first time."""

    remaining_failures = 1

    def run_and_fetch(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Reply:
        """Raise Unreachable the first time, then return Slurm's reply."""
        if SilentHost.remaining_failures:
            SilentHost.remaining_failures -= 1
            raise Unreachable("no answer")
        return super().run_and_fetch(argv, keys, timeout_seconds)


def test_sweep_is_submitted_as_array_after_silence(experiment: Experiment, slurm_executor: ScriptedSlurm) -> None:
    slurm_executor.program, slurm_executor.host = COUNTS, SilentHost(slurm_executor.host.shell)  # type: ignore[attr-defined]
    runs = launch_sweep(experiment, 2)
    assert tick_run(runs[0]).state == State.SUBMITTING.value
    recorded_commands.clear()
    for run in runs:
        assert wait_until_ended(run, "succeeded", "failed").state == State.SUCCEEDED.value
    assert sbatch_options() == ["--test-only", "--parsable"]


def test_refused_array_is_submitted_as_single_jobs(experiment: Experiment, slurm_executor: ScriptedSlurm) -> None:
    runs = launch_sweep(experiment, 2, gpus=99)
    recorded_commands.clear()
    for run in runs:
        refused = tick_until(run, "failed", "queued", "running")
        assert refused.state == State.FAILED.value and "Requested node configuration is not available" in refused.reason
    assert sbatch_options() == ["--test-only", "--parsable", "--parsable"]
