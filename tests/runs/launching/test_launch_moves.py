"""Runs that wait are held, released and moved to another cluster: each is at one place at a time, and runs once."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection

from runs import launching
from runs.experiments import trash
from runs.launching import commands, queue, reconcile, tasks
from runs.launching.queue import CannotMove
from runs.models import Attempt, Cluster, Experiment, Run
from tests.runs.launching.sweeps.test_commands import sweep_of
from tests.runs.local_cluster import Small, attempt_of, quicken, run_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS
from workers.config import ConfigError
from workers.executors.base import Unreachable
from workers.executors.states import State


@pytest.fixture
def near(small: Small, experiment: Experiment) -> Small:
    """Return a local cluster whose two cores are taken, so that any other run waits."""
    small.program = CHECKPOINTS
    tick_until(run_of(experiment, cores=2), State.RUNNING.value)
    return small


@pytest.fixture
def other_cluster(db: None, small: Small) -> Cluster:
    """Return another local cluster, with its own cores."""
    cluster = Cluster.objects.create(name="far", kind="local")
    quicken(cluster)
    return cluster


def make_waiting_run(experiment: Experiment) -> Run:
    """Return a run in the queue of the local cluster."""
    run = run_of(experiment)
    tick_until(run, State.QUEUED.value)
    return run


def tick_all() -> bool:
    """Tick every cluster once."""
    return all(reconcile.reconcile_cluster(cluster) for cluster in Cluster.objects.order_by("pk"))


def test_a_run_that_waits_moves_to_another_cluster_once(
    ada: User, experiment: Experiment, near: Small, other_cluster: Cluster
) -> None:
    run = make_waiting_run(experiment)
    queue.move_run(run, "far", ada)
    with pytest.raises(CannotMove, match="already being cancelled or moved"):
        queue.move_run(run, "far", ada)
    tasks.cancel_attempt(attempt_of(run).pk)
    wait_until(lambda: tick_all() and attempt_of(run).n == 2, "attempt 2 on the other cluster")
    for _ in range(3):
        tick_all()
    first, second = run.attempts.order_by("n")
    assert (first.state, first.cluster.name, second.cluster.name) == ("cancelled", "local", "far")
    run.refresh_from_db()
    assert run.config["compute"]["cluster"] == "far" and run.attempts.count() == 2
    assert near.submitted.count(second.key) == 1


def test_run_does_not_move_while_its_cluster_is_unreachable(
    ada: User, experiment: Experiment, near: Small, other_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_waiting_run(experiment)

    def away(*_: object) -> None:
        raise Unreachable("no route")

    with monkeypatch.context() as patch:
        patch.setattr(near, "cancel", away)
        queue.move_run(run, "far", ada)
        for _ in range(3):
            tick_all()
        assert run.attempts.count() == 1
    wait_until(lambda: tick_all() and run.attempts.count() == 2, "attempt 2 on the other cluster")


def test_run_that_ended_before_its_move_stays(
    ada: User, experiment: Experiment, small: Small, other_cluster: Cluster
) -> None:
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    wait_until((attempt_of(run).directory / "exit.json").exists, "the exit record")
    queue.move_run(run, "far", ada)
    wait_until(lambda: tick_all() and attempt_of(run).state == State.SUCCEEDED.value, "the run to succeed")
    tick_all()
    attempt = attempt_of(run)
    assert (attempt.n, attempt.moves_to) == (1, None)
    assert "not moved: it ended before it could be removed from local" in [e.why for e in attempt.events.all()]


def test_two_ticks_at_once_make_one_attempt(
    transactional_db: None, ada: User, experiment: Experiment, small: Small, other_cluster: Cluster
) -> None:
    run = run_of(experiment)
    queue.move_run(run, "far", ada)
    assert attempt_of(run).state == State.CANCELLED.value
    barrier, local = threading.Barrier(4), Cluster.objects.get(name="local")

    def arrive() -> None:
        barrier.wait()
        queue.create_moved_attempts(local)
        connection.close()

    threads = [threading.Thread(target=arrive) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [attempt.cluster.name for attempt in run.attempts.order_by("n")] == ["local", "far"]


def test_held_run_leaves_the_queue_until_released(
    ada: User, experiment: Experiment, near: Small, local: Cluster
) -> None:
    run = make_waiting_run(experiment)
    queue.hold_run(run, ada)
    wait_until(lambda: tick_all() and attempt_of(run).hold == "person", "the run to be held")
    for _ in range(3):
        tick_all()
    held_attempt = attempt_of(run)
    assert (held_attempt.n, held_attempt.state, held_attempt.reason) == (
        2,
        "created",
        "held until a user releases it",
    )
    with pytest.raises(CannotMove, match="is already held"):
        queue.hold_run(run, ada)
    queue.release_run(run, ada)
    assert tick_until(run, State.QUEUED.value).n == 2
    with pytest.raises(CannotMove, match="is not held"):
        queue.release_run(run, ada)


def test_released_sweep_run_waits_for_its_turn(ada: User, experiment: Experiment, small: Small, local: Cluster) -> None:
    small.program = CHECKPOINTS
    sweep = sweep_of(experiment, at_once=1)
    first = sweep.runs.order_by("pk").first()
    queue.hold_run(first, ada)
    tick_all()
    assert attempt_of(first).hold == "person" and len(small.submitted) == 1
    queue.release_run(first, ada)
    assert attempt_of(first).hold == "sweep"


def test_running_and_ended_runs_are_not_moved(
    ada: User, experiment: Experiment, near: Small, other_cluster: Cluster
) -> None:
    going = Run.objects.filter(state="running").first()
    for act in (queue.hold_run, queue.release_run, lambda run, person: queue.move_run(run, "far", person)):
        with pytest.raises(CannotMove, match=r"is not waiting \(running\)"):
            act(going, ada)
    run = make_waiting_run(experiment)
    with pytest.raises(ConfigError, match="must be one of far, local, not 'moon'"):
        queue.move_run(run, "moon", ada)
    with pytest.raises(CannotMove, match="is already on local"):
        queue.move_run(run, "local", ada)
    assert Attempt.objects.filter(moves_to__isnull=False).count() == 0


def test_a_cancel_calls_off_the_move(ada: User, experiment: Experiment, small: Small, other_cluster: Cluster) -> None:
    run = run_of(experiment)
    queue.move_run(run, "far", ada)
    assert commands.cancel_runs(Run.objects.filter(pk=run.pk), ada) == 1
    tick_all()
    run.refresh_from_db()
    assert (run.state, run.attempts.count()) == ("cancelled", 1)


def test_a_deleted_run_does_not_come_back_on_another_cluster(
    ada: User, experiment: Experiment, small: Small, other_cluster: Cluster
) -> None:
    run = run_of(experiment)
    queue.move_run(run, "far", ada)
    trash.delete_run(run, ada)
    tick_all()
    assert run.attempts.count() == 1
