"""A paused sweep over real agents: runs that have begun continue, those that wait leave the queue of their machine."""

from __future__ import annotations

from typing import Any

import pytest

from runs import enqueue
from runs.launching import cancel_run, hold_run, reconcile, release_run, transition
from runs.launching.queue import STARTED_MEANWHILE
from runs.launching.sweeps.commands import cancel_sweep, release_waiting, uncancel_sweep, unpause_sweep
from runs.launching.sweeps.pause import pause_sweep, withdraw_sweep
from runs.launching.sweeps.status import sweep_status
from runs.launching.tasks import withdraw_sweep as withdraw_task
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Hold, Run, Sweep
from tests.runs.launching.sweeps.test_commands import count_held, on_clusters, sweep_of
from tests.runs.local_cluster import Small, attempt_of
from tests.waiting import wait_until
from workers.executors.states import State

RUNNING, QUEUED = 2, 3
ENDS_ON_REQUEST = "import pathlib, time\nwhile not pathlib.Path('end').exists(): time.sleep(0.01)"


@pytest.fixture
def sweep(experiment: Experiment, small: Small, local: Cluster) -> Sweep:
    """Return a sweep with two runs that run on this machine, and three that wait in its queue."""
    small.program = ENDS_ON_REQUEST
    created = sweep_of(experiment, seeds=[*range(5)], grid={"es.sigma": [0.1]}, at_once=5)

    def is_full() -> bool:
        reconcile.reconcile_cluster(local)
        now = sweep_status(created)
        return (now.running, now.queued) == (RUNNING, QUEUED)

    wait_until(is_full, "two runs to begin and three to be queued")
    return created


def finish(local: Cluster, *runs: Run) -> None:
    """Let the programs of these runs end, and tick until the runs have, and what waits had time to begin."""
    for run in runs:
        (attempt_of(run).directory / "end").touch()
    wait_until(
        lambda: reconcile.reconcile_cluster(local) and all(attempt_of(run).state == "succeeded" for run in runs),
        "the runs to end",
    )
    for _ in range(3):
        reconcile.reconcile_cluster(local)


def why(run: Run) -> list[str]:
    """Return the texts of the run's events."""
    return list(AttemptEvent.objects.filter(attempt__run=run).order_by("pk").values_list("why", flat=True))


def test_queued_runs_wait_until_the_sweep_is_resumed_and_start_in_order(
    sweep: Sweep, small: Small, local: Cluster
) -> None:
    runs = list(sweep.runs.order_by("pk"))
    assert pause_sweep(sweep)
    now = sweep_status(sweep)
    assert (now.running, now.queued, now.leaving, now.waiting) == (RUNNING, QUEUED, QUEUED, 0)
    withdraw_task(sweep.pk)
    now = sweep_status(sweep)
    assert (now.running, now.queued, now.leaving, now.waiting) == (RUNNING, 0, 0, QUEUED)
    finish(local, *runs[:RUNNING])
    assert sweep_status(sweep).states == [("created", QUEUED), ("succeeded", RUNNING)]
    assert [attempt_of(run).n for run in runs] == [1] * RUNNING + [2] * QUEUED
    assert "left the queue, because its sweep was paused" in why(runs[-1])
    assert unpause_sweep(sweep)
    small.submitted.clear()
    reconcile.reconcile_cluster(local)
    finish(local, *runs[RUNNING : 2 * RUNNING])
    finish(local, runs[-1])
    assert small.submitted == [f"esweb-{run.uid}-a2" for run in runs[RUNNING:]]
    assert sweep_status(sweep).states == [("succeeded", 5)]


def test_pause_sends_a_task_that_empties_the_queues(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(enqueue, "send", lambda *arguments: sent.append(arguments))
    with django_capture_on_commit_callbacks(execute=True):
        pause_sweep(sweep)
    assert sent == [("withdraw_sweep", sweep.pk)]


def test_run_that_starts_before_it_can_leave_the_queue_continues(sweep: Sweep, small: Small, local: Cluster) -> None:
    first, second, late, ended, _last = sweep.runs.order_by("pk")
    keys = [attempt_of(run).key for run in (late, ended)]
    pause_sweep(sweep)
    for run in (first, second):
        (attempt_of(run).directory / "end").touch()
    # Before the sweep's runs are withdrawn, the launch of another run starts what fits.
    wait_until(lambda: all(seen.state != State.QUEUED for seen in small.poll(keys).values()), "two runs to begin")
    withdraw_sweep(sweep)
    (attempt_of(ended).directory / "end").touch()
    wait_until(lambda: small.poll(keys)[keys[1]].state.is_final, "one of them to end")
    finish(local, ended)
    assert [attempt_of(run).state for run in (late, ended)] == ["running", "succeeded"]
    assert sweep_status(sweep).running == sweep_status(sweep).waiting == 1
    for run in (late, ended):
        assert (attempt_of(run).n, attempt_of(run).moves_to) == (1, None)
        assert STARTED_MEANWHILE in why(run)


def test_released_runs_that_are_not_submitted_wait_again(experiment: Experiment, small: Small, local: Cluster) -> None:
    sweep = sweep_of(experiment, at_once=2)
    released = release_waiting(local)
    assert pause_sweep(sweep) and count_held(sweep) == 4
    # A tick that has read the attempt before the pause does not submit it.
    assert not transition(released[0], State.SUBMITTING, "being submitted to the cluster")
    reconcile.reconcile_cluster(local)
    assert not small.submitted and on_clusters(sweep) == 0


def test_run_that_is_being_submitted_leaves_before_its_cluster_is_called(
    experiment: Experiment, small: Small, local: Cluster
) -> None:
    sweep = sweep_of(experiment, at_once=1)
    [released] = release_waiting(local)
    transition(released, State.SUBMITTING, "being submitted to the cluster")
    assert pause_sweep(sweep)
    for _ in range(2):
        reconcile.reconcile_cluster(local)
    assert not small.submitted and count_held(sweep) == 4
    assert "its sweep was paused before it was on the cluster" in why(released.run)


def test_pause_of_a_silent_cluster_takes_effect_when_it_replies(
    sweep: Sweep, small: Small, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause_sweep(sweep)
    blocked = small.root.with_name("blocked")
    small.root.rename(blocked)
    small.root.write_text("")
    withdraw_sweep(sweep)
    assert "to leave the queue as soon as local is reachable" in attempt_of(sweep.runs.order_by("pk")[4]).reason
    small.root.unlink()
    blocked.rename(small.root)
    finish(local, *sweep.runs.order_by("pk")[:RUNNING])
    assert count_held(sweep) == QUEUED


def test_runs_of_a_paused_sweep_are_cancelled_held_and_released(sweep: Sweep, small: Small, local: Cluster) -> None:
    first, second, third = list(sweep.runs.order_by("pk"))[RUNNING:]
    person = sweep.created_by
    pause_sweep(sweep)
    cancel_run(first, person)
    hold_run(second, person)
    wait_until(
        lambda: (
            reconcile.reconcile_cluster(local) and attempt_of(second).hold == Hold.PERSON and count_held(sweep) == 2
        ),
        "one run to be held by a user, and one by the sweep",
    )
    assert attempt_of(first).state == "cancelled" and attempt_of(third).hold == Hold.SWEEP
    release_run(second, person)
    assert attempt_of(second).hold == Hold.SWEEP
    assert cancel_sweep(sweep, person) == RUNNING + 2
    wait_until(lambda: reconcile.reconcile_cluster(local) and not sweep_status(sweep).is_open, "the sweep to end")
    sweep.refresh_from_db()
    uncancel_sweep(sweep, person)
    reconcile.reconcile_cluster(local)
    assert on_clusters(sweep) == 0 and count_held(sweep) == Attempt.objects.open().count()


def test_a_cancel_between_two_attempts_is_undone_with_the_sweep(experiment: Experiment, local: Cluster) -> None:
    sweep = sweep_of(experiment)
    last = sweep.runs.order_by("pk")[3]
    Attempt.objects.filter(run=last).update(state="queued", hold="")
    pause_sweep(sweep)
    Attempt.objects.filter(run=last).update(state="cancelled")
    Run.objects.filter(pk=last.pk).update(state="cancelled")
    cancel_sweep(sweep, sweep.created_by)
    assert attempt_of(last).moves_to is None and attempt_of(last).cancel_requested_at is not None
    assert uncancel_sweep(sweep, sweep.created_by) == 4 and count_held(sweep) == 4
