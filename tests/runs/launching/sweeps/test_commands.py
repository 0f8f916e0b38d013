"""Sweeps over real agents: all runs are created together, and run in parallel up to the limit under any ticks."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from runs.launching import cancel_run, reconcile
from runs.launching.sweeps import commands as sweep_commands
from runs.launching.sweeps.commands import (
    NewSweep,
    cancel_sweep,
    extend_sweep,
    launch_sweep,
    set_concurrent_runs,
    uncancel_sweep,
    unpause_sweep,
)
from runs.launching.sweeps.pause import pause_sweep
from runs.launching.sweeps.status import sweep_status
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Run, Sweep
from tests.runs.local_cluster import Small
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS
from workers.config import ConfigError, preset
from workers.executors.states import State


def new(**more: Any) -> NewSweep:
    """Return a sweep of two cells, each with two seeds."""
    fields: dict[str, Any] = {"grid": {"es.sigma": [0.1, 0.2]}, "seeds": [0, 1], "preset": "es-micro", **more}
    return NewSweep(base=preset("es-micro").config, **fields)


def sweep_of(experiment: Experiment, **more: Any) -> Sweep:
    """Launch a sweep as a form or the API does."""
    return launch_sweep(new(**more), experiment, experiment.owner)


def count_held(sweep: Sweep) -> int:
    """Return how many of its attempts are held back."""
    return Attempt.objects.on_hold().filter(run__sweep=sweep).count()


def on_clusters(sweep: Sweep) -> int:
    """Return how many of its attempts are on a cluster or being submitted."""
    return Attempt.objects.to_clusters().filter(run__sweep=sweep).count()


def test_launch_creates_all_runs_and_holds_them(experiment: Experiment, local: Cluster) -> None:
    sweep = sweep_of(experiment)
    assert [(run.cell, run.seed) for run in sweep.runs.order_by("pk")] == [
        ({"es.sigma": sigma}, seed) for seed in (0, 1) for sigma in (0.1, 0.2)
    ]
    assert sweep.runs.first().name == "σ=0.1 seed 0 · es-micro sweep"
    assert set(Attempt.objects.values_list("state", "hold", "reason")) == {("created", "sweep", "waits in its sweep")}
    assert AttemptEvent.objects.filter(to_state="created").count() == 4


def test_one_wrong_cell_makes_nothing(experiment: Experiment, local: Cluster) -> None:
    for more in ({"grid": {"es.sigma": [0.1, -1]}}, {"grid": {"compute.cluster": ["local", "moon"]}}, {"at_once": 0}):
        with pytest.raises(ConfigError):
            sweep_of(experiment, **more)
    assert not Sweep.objects.exists() and not Run.objects.exists()


def test_number_of_parallel_runs_is_limited(experiment: Experiment, small: Small, local: Cluster) -> None:
    small.program = "import pathlib, time\nwhile not pathlib.Path('../../go').exists(): time.sleep(0.01)"
    sweep = sweep_of(experiment, seeds=[0], at_once=1)
    for _ in range(3):
        reconcile.reconcile_cluster(local)
        assert (on_clusters(sweep), count_held(sweep), len(small.submitted)) == (1, 1, 1)
    (small.root.parent / "runs" / "go").touch()

    def all_ended() -> bool:
        reconcile.reconcile_cluster(local)
        assert on_clusters(sweep) <= 1
        return not sweep_status(sweep).is_open

    wait_until(all_ended, "both runs of the sweep to end")
    assert sweep_status(sweep).states == [("succeeded", 2)] and len(small.submitted) == len(set(small.submitted)) == 2


def test_paused_sweep_starts_no_new_runs(experiment: Experiment, small: Small, local: Cluster) -> None:
    small.program = CHECKPOINTS
    sweep = sweep_of(experiment, at_once=1)
    reconcile.reconcile_cluster(local)
    assert pause_sweep(sweep) and not pause_sweep(sweep)
    set_concurrent_runs(sweep, 3)
    reconcile.reconcile_cluster(local)
    assert (on_clusters(sweep), count_held(sweep)) == (1, 3)
    assert unpause_sweep(sweep) and not unpause_sweep(sweep)
    reconcile.reconcile_cluster(local)
    assert (on_clusters(sweep), count_held(sweep)) == (3, 1)


def test_sweep_is_extended_without_existing_runs(experiment: Experiment, local: Cluster) -> None:
    sweep = sweep_of(experiment)
    new_runs = extend_sweep(sweep, experiment.owner, grid={"es.sigma": [0.2, 0.3]}, seeds=[1, 2])
    assert {(run.cell["es.sigma"], run.seed) for run in new_runs} == {(0.1, 2), (0.2, 2), (0.3, 0), (0.3, 1), (0.3, 2)}
    assert extend_sweep(sweep, experiment.owner, grid={"es.sigma": [0.3]}, seeds=[2]) == []
    with pytest.raises(ConfigError):
        extend_sweep(sweep, experiment.owner, grid={"es.sigma": [-1]})
    assert sweep.runs.count() == count_held(sweep) == 9


def test_a_cancel_ends_all_and_is_undone(experiment: Experiment, small: Small, local: Cluster) -> None:
    small.program = CHECKPOINTS
    sweep = sweep_of(experiment, at_once=1)
    first = sweep.runs.order_by("pk").first()

    def has_begun() -> bool:
        reconcile.reconcile_cluster(local)
        return (first.newest_attempt().directory / "started").exists()

    wait_until(has_begun, "the first run's program to start")
    assert cancel_sweep(sweep, experiment.owner) == 4
    assert sweep_status(sweep).ended == 3
    wait_until(lambda: reconcile.reconcile_cluster(local) and not sweep_status(sweep).is_open, "the sweep to end")
    sweep.refresh_from_db()
    assert sweep_status(sweep).word == "cancelled" and sweep_status(sweep).states == [("cancelled", 4)]
    assert uncancel_sweep(sweep, experiment.owner) == 4
    sweep.refresh_from_db()
    assert count_held(sweep) == 4 and sweep_status(sweep).word == "running"
    assert uncancel_sweep(sweep, experiment.owner) == 0


def test_a_run_of_it_that_starts_again_waits_for_its_turn(experiment: Experiment, small: Small, local: Cluster) -> None:
    small.program = "raise SystemExit(1)"
    base = {**preset("es-micro").config, "compute": {"cluster": "local", "restarts": 1}}
    new_sweep = NewSweep(base=base, grid={"es.sigma": [0.1]}, seeds=[0])
    sweep = launch_sweep(new_sweep, experiment, experiment.owner)

    def again() -> bool:
        reconcile.reconcile_cluster(local)
        return Attempt.objects.filter(n=2).exists()

    wait_until(again, "attempt 2")
    reasons = Attempt.objects.get(n=2).events.order_by("pk").values_list("why", flat=True)
    assert "released by its sweep" in reasons
    assert sweep.runs.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_that_let_go_at_once_let_no_more_go_than_may(experiment: Experiment, local: Cluster) -> None:
    sweep = sweep_of(experiment, seeds=list(range(10)), at_once=3)
    barrier = threading.Barrier(4)

    def let_go() -> None:
        barrier.wait()
        sweep_commands.release_waiting(local)
        connection.close()

    threads = [threading.Thread(target=let_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (on_clusters(sweep), count_held(sweep)) == (3, 17)


def test_a_cancelled_run_of_it_never_goes_to_its_cluster(experiment: Experiment, small: Small, local: Cluster) -> None:
    sweep = sweep_of(experiment, seeds=[0], at_once=2)
    run = sweep.runs.order_by("pk").first()
    cancel_run(run, experiment.owner)
    reconcile.reconcile_cluster(local)
    run.refresh_from_db()
    assert run.state == State.CANCELLED.value and run.newest_attempt().key not in small.submitted
    assert len(small.submitted) == 1


def test_a_tick_asks_as_often_with_many_held_as_with_few(
    experiment: Experiment, small: Small, local: Cluster, django_assert_max_num_queries: Any
) -> None:
    small.program = CHECKPOINTS
    sweep_of(experiment, seeds=list(range(20)), at_once=1)
    reconcile.reconcile_cluster(local)
    with django_assert_max_num_queries(20):
        reconcile.reconcile_cluster(local)
