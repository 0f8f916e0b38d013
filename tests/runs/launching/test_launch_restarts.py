"""A failed run restarts automatically within its budget, later each time, and never after a user's cancel."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from runs import launching
from runs.launching.resume import RESTARTED_AFTER
from runs.models import Attempt, Cluster, Experiment, Origin, Run
from tests.cases import each_case
from tests.runs.launching.test_launch_resumes import save_checkpoint
from tests.runs.local_cluster import Small, attempt_of, quicken, run_of, tick_once, tick_until_true
from tests.waiting import PATIENCE_SECONDS
from workers.executors.states import State

BY_ITSELF = RESTARTED_AFTER


def failed(experiment: Experiment, state: State = State.FAILED, restarts: int = 3, **facts: object) -> Run:
    """Create a run whose newest attempt has just ended in this state, as a tick would leave it."""
    run = run_of(experiment, restarts=restarts)
    end(run, state, **facts)
    return run


def end(run: Run, state: State = State.FAILED, **facts: object) -> None:
    attempt = attempt_of(run)
    launching.transition(attempt, state, "the end", **facts)
    launching.plan_restart(attempt)


def wait_of(run: Run) -> float | None:
    """Seconds from the end to the restart."""
    attempt = attempt_of(run)
    if attempt.restart_at is None:
        return None
    assert attempt.ended_at is not None
    return (attempt.restart_at - attempt.ended_at).total_seconds()


def words(run: Run) -> list[str]:
    return [event.why for event in attempt_of(run).events.order_by("pk")]


def make_due(run: Run) -> None:
    attempt_of(run).run.attempts.filter(restart_at__isnull=False).update(restart_at=timezone.now())


def test_a_failing_program_is_started_as_often_as_its_budget_allows(experiment: Experiment, small: Small) -> None:
    small.program = "raise SystemExit(1)"
    run = run_of(experiment, restarts=1)
    tick_until_true(run, "the end of attempt 2", lambda a: a.n == 2 and State(a.state).is_final)
    attempts = list(run.attempts.order_by("n"))
    assert [a.origin for a in attempts] == [Origin.LAUNCH, Origin.RESTART]
    assert small.submitted == [a.key for a in attempts]
    assert words(run)[-1] == "not restarted automatically: all 1 restarts are used"
    assert tick_once(run).n == 2


@each_case("state", BY_ITSELF)
def test_each_end_that_nobody_wanted_is_followed_by_another_attempt(
    experiment: Experiment, small: Small, local: Cluster, state: State
) -> None:
    make_due(failed(experiment, state))
    assert [attempt.n for attempt in launching.create_due_restarts(local)] == [2]


@each_case("state", [s for s in State if s.is_final and s not in BY_ITSELF])
def test_intended_end_is_not_restarted(experiment: Experiment, small: Small, state: State) -> None:
    assert attempt_of(failed(experiment, state)).restart_at is None


def test_run_without_budget_is_not_restarted(experiment: Experiment, small: Small) -> None:
    run = failed(experiment, restarts=0)
    assert attempt_of(run).restart_at is None and words(run)[-1] == "the end"


def test_restart_resumes_from_the_newest_checkpoint(experiment: Experiment, small: Small) -> None:
    run = failed(experiment)
    save_checkpoint(run, 20)
    make_due(run)
    attempt = tick_once(run)
    assert attempt.resumed_step == 20
    first = attempt.events.order_by("pk").first()
    assert first is not None and first.why.startswith("restarted automatically, to run on local; resumes from step")


def test_restart_delay_grows_up_to_a_limit(experiment: Experiment, small: Small, local: Cluster) -> None:
    quicken(local, restart=5.0, restart_longest=12.0)
    run = failed(experiment, restarts=4)
    for n, seconds in enumerate((5, 10, 12, 12), 1):
        assert words(run)[-1] == f"restarts automatically in {seconds} s: restart {n} of 4"
        # The wait begins when it is planned, slightly after the end.
        assert seconds <= (wait_of(run) or 0) < seconds + PATIENCE_SECONDS
        make_due(run)
        launching.create_due_restarts(local)
        end(run)
    assert wait_of(run) is None


def test_before_its_time_nothing_starts(experiment: Experiment, small: Small, local: Cluster) -> None:
    quicken(local, restart=3600.0, restart_longest=3600.0)
    run = failed(experiment)
    assert tick_once(run).n == 1


def test_a_preemption_takes_nothing_from_the_budget(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = failed(experiment, State.PREEMPTED, restarts=1)
    for n in (2, 3):
        make_due(run)
        launching.create_due_restarts(local)
        assert (attempt_of(run).n, attempt_of(run).origin) == (n, Origin.PREEMPTION)
        end(run, State.PREEMPTED)
    make_due(run)
    launching.create_due_restarts(local)
    end(run, State.LOST)
    assert attempt_of(run).restart_at is not None
    assert launching.count_restarts(run) == 0


def test_a_config_that_cannot_be_used_is_not_tried_again(experiment: Experiment, small: Small) -> None:
    run = failed(experiment, exit_code=2)
    assert attempt_of(run).restart_at is None
    assert words(run)[-1] == "not restarted automatically: the error would occur again"


def test_a_restart_can_be_called_off(experiment: Experiment, small: Small) -> None:
    run = failed(experiment)
    assert launching.request_cancel(run, experiment.owner) is None
    assert attempt_of(run).restart_at is None
    assert words(run)[-1] == "automatic restart cancelled by ada"
    assert tick_once(run).n == 1


def test_a_cancel_that_comes_after_the_restart_ends_that(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = failed(experiment)
    make_due(run)
    launching.create_due_restarts(local)
    assert launching.request_cancel(run) is not None
    assert attempt_of(run).state == State.CANCELLED.value and attempt_of(run).restart_at is None


def test_resume_by_a_user_replaces_the_planned_restart(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = failed(experiment)
    make_due(run)
    run.refresh_from_db()
    assert launching.create_resume_attempt(run).n == 2
    assert launching.create_due_restarts(local) == []
    assert Attempt.objects.count() == 2


@pytest.mark.parametrize("after", ["all is here", "long enough", "the clock was set back"])
def test_restart_waits_for_checkpoints_on_a_remote_disk(
    experiment: Experiment, small: Small, local: Cluster, after: str
) -> None:
    run = failed(experiment)
    make_due(run)
    Cluster.objects.filter(pk=local.pk).update(config={**local.config, "address": "far.example"})
    assert launching.create_due_restarts(local) == []
    waiting = Attempt.objects.filter(restart_at__isnull=False)
    if after == "all is here":
        waiting.update(drained_at=timezone.now())
    else:
        days = 1 if after == "the clock was set back" else -1
        waiting.update(restart_at=timezone.now() + timedelta(days=days))
    assert [attempt.n for attempt in launching.create_due_restarts(local)] == [2]


@pytest.mark.django_db(transaction=True)
def test_several_who_find_it_due_make_one_attempt(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = failed(experiment)
    make_due(run)
    attempts: list[Attempt] = []

    def look() -> None:
        attempts.extend(launching.create_due_restarts(local))
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [a.n for a in attempts] == [2] and Attempt.objects.count() == 2


def test_a_config_that_no_longer_fits_holds_up_no_tick(experiment: Experiment, small: Small) -> None:
    run = failed(experiment)
    Run.objects.filter(pk=run.pk).update(config={**run.config, "es": {"itertions": 3}})
    make_due(run)
    assert (tick_once(run).n, attempt_of(run).restart_at) == (1, None)
    assert "es.itertions: is not a known key" in words(run)[-1]


def test_a_clock_of_this_machine_that_is_wrong_changes_nothing(
    experiment: Experiment, small: Small, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(local, restart=3600.0, restart_longest=3600.0)
    ahead = timezone.now() + timedelta(days=1)
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", lambda: ahead)
        run = failed(experiment)
        assert launching.create_due_restarts(local) == []
    due = attempt_of(run).restart_at
    assert due is not None and due < ahead


def test_a_clock_that_was_set_back_holds_up_no_restart(experiment: Experiment, small: Small) -> None:
    run = failed(experiment)
    run.attempts.update(restart_at=timezone.now() + timedelta(days=1))
    assert tick_once(run).n == 2
