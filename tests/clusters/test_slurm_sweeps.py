"""Runs of a sweep go to Slurm as one array, and each is one job all the same, whoever dies in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from runs import launching
from runs.launching import reconcile
from runs.models import Attempt, Cluster, Experiment
from tests.clusters.far_slurm import Far, asked, await_end, sweep_far, there, tick_far
from tests.clusters.slurm import SlurmCluster
from tests.clusters.test_slurm_submits_once import COUNTS, Killed, die, jobs_of, once
from tests.runs.local_cluster import attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS
from workers.executors.base import Unreachable
from workers.executors.places import SharedDisk
from workers.executors.shell import Answer
from workers.executors.states import State


def submits() -> list[str]:
    """The first option of each sbatch since they were last cleared."""
    return [argv[1] for argv in asked if argv[0] == "sbatch"]


def test_runs_that_go_together_are_one_array_and_each_is_cancelled_by_itself(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    far.program = CHECKPOINTS
    runs = sweep_far(experiment, 4, cores=4)
    asked.clear()
    tick_far(runs[0])
    assert submits() == ["--test-only", "--parsable"]
    numbers = [attempt_of(run).native_id for run in runs]
    assert len({number.partition("_")[0] for number in numbers}) == 1 and len(set(numbers)) == 4
    for run in runs:
        assert jobs_of(slurm, attempt_of(run).key) == 1
    busy = wait_until(
        lambda: len(running := [run for run in runs if tick_far(run).state == "running"]) == 3 and running,
        "three of the four runs to run",
        details=slurm.told,
    )
    (waiting,) = set(runs) - set(busy)
    wait_until((there(attempt_of(busy[0])) / "started").exists, "the program to start")
    # What waits is cancelled first: it would start in the place of the other.
    launching.request_cancel(waiting, experiment.owner)
    never = tick_until(waiting, "cancelled", "failed", "interrupted")
    launching.request_cancel(busy[0], experiment.owner)
    ended = tick_until(busy[0], "cancelled", "failed", "interrupted")
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert never.state == State.CANCELLED.value and not (there(never) / "started").exists()
    assert {tick_far(run).state for run in busy[1:]} == {State.RUNNING.value}


class Dies(SharedDisk):
    """Slurm's commands here, and a worker that dies when tasks get their names, after so many lines of that."""

    lines: int | None = None

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """Runs it, or a part of it."""
        if argv[0] != "scontrol" or self.lines is None:
            return super().run(argv, timeout_seconds, text)
        said, Dies.lines = "".join(text.splitlines(keepends=True)[: self.lines]), None
        super().run(argv, timeout_seconds, said)
        raise Killed


def dies_when_naming(far: Far, lines: int) -> None:
    far.place, Dies.lines = Dies(far.place.shell), lines  # type: ignore[attr-defined]


MOMENTS: dict[str, Callable[[Far], None]] = {
    "before sbatch": lambda far: setattr(far, "before_submit", once(die)),
    "before any task has a name": lambda far: dies_when_naming(far, 0),
    "when one is named and held": lambda far: dies_when_naming(far, 1),
    "when one is named and let go": lambda far: dies_when_naming(far, 2),
    "after sbatch": lambda far: setattr(far, "after_submit", once(die)),
}


@pytest.mark.parametrize("moment", list(MOMENTS))
def test_a_worker_that_dies_around_an_array_costs_nothing(
    experiment: Experiment, far: Far, slurm: SlurmCluster, moment: str
) -> None:
    far.program = COUNTS
    runs = sweep_far(experiment, 2)
    MOMENTS[moment](far)
    with pytest.raises(Killed):
        reconcile.reconcile_cluster(Cluster.objects.get(name="far"))
    for run in runs:
        ended = await_end(run, "succeeded", "failed", "lost")
        assert ended.state == State.SUCCEEDED.value, ended.reason
        assert (there(ended) / "ran").read_text() == "x" and jobs_of(slurm, ended.key) == 1
    assert Attempt.objects.count() == 2
    assert not slurm.ask("squeue", "-h", "-t", "PD,R", "-o", "%j")


class Silent(SharedDisk):
    """Gives no answer the first time."""

    silences = 1

    def look(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Answer:
        """Nothing, or what Slurm says."""
        if Silent.silences:
            Silent.silences -= 1
            raise Unreachable("no answer")
        return super().look(argv, keys, timeout_seconds)


def test_what_a_silent_cluster_was_not_asked_goes_as_one_array_later(experiment: Experiment, far: Far) -> None:
    far.program, far.place = COUNTS, Silent(far.place.shell)  # type: ignore[attr-defined]
    runs = sweep_far(experiment, 2)
    assert tick_far(runs[0]).state == State.SUBMITTING.value
    asked.clear()
    for run in runs:
        assert await_end(run, "succeeded", "failed").state == State.SUCCEEDED.value
    assert submits() == ["--test-only", "--parsable"]


def test_where_an_array_is_refused_each_is_submitted_alone_and_told_why(experiment: Experiment, far: Far) -> None:
    runs = sweep_far(experiment, 2, gpus=99)
    asked.clear()
    for run in runs:
        refused = tick_until(run, "failed", "queued", "running")
        assert refused.state == State.FAILED.value and "Requested node configuration is not available" in refused.reason
    assert submits() == ["--test-only", "--parsable", "--parsable"]
