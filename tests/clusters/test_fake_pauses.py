"""A paused sweep on clusters with queues of their own: pending jobs leave them, and running ones are left alone."""

from __future__ import annotations

import pytest

from runs.launching.sweeps.commands import unpause_sweep
from runs.launching.sweeps.pause import pause_sweep, withdraw_sweep
from runs.models import Experiment, Hold
from tests.clusters.fakes.far import ALSO_OVER_SSH, Far
from tests.clusters.scripted_slurm import launch_sweep
from tests.runs.local_cluster import attempt_of
from workers.executors.states import State


@ALSO_OVER_SSH
def test_pending_jobs_leave_the_queue_until_the_sweep_is_resumed(far: Far, experiment: Experiment) -> None:
    runs = launch_sweep(experiment, 4)
    far.tick(*runs)
    far.start(runs[0])
    sweep = runs[0].sweep
    assert sweep is not None and pause_sweep(sweep)
    # One starts before its cluster is reached.
    far.fake.start(attempt_of(runs[1]).key)
    withdraw_sweep(sweep)
    for _ in range(3):
        attempts = far.tick(*runs)
    assert [attempt.state for attempt in attempts] == [State.RUNNING.value] * 2 + [State.CREATED.value] * 2
    assert [(attempt.n, attempt.hold) for attempt in attempts] == [(1, ""), (1, ""), (2, Hold.SWEEP), (2, Hold.SWEEP)]
    assert attempts[1].moves_to is None
    unpause_sweep(sweep)
    far.tick()
    assert [attempt.state for attempt in far.tick(*runs[2:])] == [State.QUEUED.value] * 2


@pytest.mark.parametrize("far", ["slurm"], indirect=True)
def test_pause_keeps_the_partition_of_withdrawn_jobs(far: Far, experiment: Experiment) -> None:
    far.configure(partitions=["low"])
    runs = launch_sweep(experiment, 2, partition="low")
    far.tick(*runs)
    assert runs[0].sweep is not None
    pause_sweep(runs[0].sweep)
    for _ in range(3):
        far.tick(*runs)
    runs[0].refresh_from_db()
    assert attempt_of(runs[0]).hold == Hold.SWEEP and runs[0].config["compute"]["partition"] == "low"
