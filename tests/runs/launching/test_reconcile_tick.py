"""Ticks over real agents: the database comes to the attempt's true state."""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from runs import launching
from runs.launching import reconcile
from runs.models import Attempt, Cluster, Experiment, Run
from tests.runs.local_cluster import Small, attempt_of, quicken, run_of, tick_once, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import CHECKPOINTS, IGNORES_TERM, RUNS_LONG
from workers.attempt import CLOSED_EPOCH, lease, owner
from workers.executors.base import Unreachable
from workers.executors.states import State
from workers.executors.tickets import Tickets
from workers.records import RecordWriter, Status


def _running(experiment: Experiment, small: Small, program: str) -> Run:
    small.program = program
    run = run_of(experiment)
    attempt = tick_until(run, State.RUNNING.value)
    wait_until((attempt.directory / "started").exists, "the program to start")
    return run


def _raise(error: Exception) -> None:
    raise error


def test_run_succeeds_with_its_events(experiment: Experiment, small: Small) -> None:
    small.program = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)"
    run = run_of(experiment)
    running = tick_until(run, State.RUNNING.value)
    assert running.started_at is not None and running.cluster.name == "local"
    tick_until_true(run, "the first heartbeat", lambda a: a.heartbeat > 0)
    (running.directory / "go").touch()
    ended = tick_until(run, State.SUCCEEDED.value)
    run.refresh_from_db()
    assert run.state == State.SUCCEEDED.value and not run.is_open
    assert (ended.exit_code, ended.exit_signal, ended.reason) == (0, None, "done")
    assert ended.started_at is not None and ended.ended_at is not None and ended.started_at < ended.ended_at
    states = [event.to_state for event in ended.events.order_by("pk")]
    assert states == ["created", "submitting", "queued", "running", "succeeded"]
    ended.cluster.refresh_from_db()
    assert ended.cluster.ticked_at is not None


def test_a_quick_run_has_the_times_of_its_exit_record(experiment: Experiment, small: Small) -> None:
    run = run_of(experiment)
    ended = tick_until(run, State.SUCCEEDED.value)
    record = json.loads((ended.directory / "exit.json").read_text())
    assert ended.started_at is not None and ended.started_at.timestamp() == pytest.approx(record["started_at"])
    assert ended.ended_at is not None and ended.ended_at.timestamp() == pytest.approx(record["ended_at"])


def test_a_failed_run_ends_with_its_last_printed_line(experiment: Experiment, small: Small) -> None:
    small.program = "raise ValueError('the reward is not a number')"
    ended = tick_until(run_of(experiment), State.FAILED.value)
    assert ended.reason == "ended with exit code 1: ValueError: the reward is not a number"


def test_a_failed_run_ends_with_its_own_sentence_where_it_wrote_one(experiment: Experiment, small: Small) -> None:
    small.program = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)\nraise SystemExit(1)"
    run = run_of(experiment)
    attempt = tick_until(run, State.RUNNING.value)
    with RecordWriter(attempt.directory, 0) as writer:
        writer.write(Status("training"))
        writer.write(Status("failed", "the reward of 'What is 2+2?' failed twice"))
    (attempt.directory / "go").touch()
    ended = tick_until(run, State.FAILED.value)
    assert ended.reason == "ended with exit code 1: the reward of 'What is 2+2?' failed twice"


def test_a_checkpoint_after_a_signal_is_an_interruption(experiment: Experiment, small: Small) -> None:
    run = _running(experiment, small, CHECKPOINTS)
    agent = owner(attempt_of(run).directory)
    assert agent is not None
    agent.send(signal.SIGUSR1)
    assert tick_until(run, State.INTERRUPTED.value).exit_code == 75


def test_a_time_limit_is_a_timeout(experiment: Experiment, small: Small) -> None:
    small.program = RUNS_LONG
    ended = tick_until(run_of(experiment, time_limit_seconds=1), State.TIMEOUT.value)
    assert ended.reason == "reached its time limit of 1 s"


def test_an_agent_that_was_killed_makes_the_attempt_lost_and_fenced(experiment: Experiment, small: Small) -> None:
    run = _running(experiment, small, IGNORES_TERM)
    agent = owner(attempt_of(run).directory)
    assert agent is not None
    agent.send(signal.SIGKILL)
    ended = tick_until(run, State.LOST.value)
    assert ended.reason == "its agent stopped without an exit record"
    assert lease(ended.directory) == CLOSED_EPOCH


def test_a_third_run_waits_with_the_reason_and_starts_in_turn(experiment: Experiment, small: Small) -> None:
    first, second = _running(experiment, small, CHECKPOINTS), _running(experiment, small, CHECKPOINTS)
    third = run_of(experiment)
    waiting = tick_until(third, State.QUEUED.value)
    waiting = tick_once(third)
    # The owners are omitted, because the reader of this reason may not see those runs.
    assert waiting.reason == "waiting for a core: 2 of 2 in use by 2 jobs"
    launching.request_cancel(first)
    assert tick_until(third, State.RUNNING.value).reason == ""
    assert attempt_of(second).state == State.RUNNING.value


def test_a_cluster_that_does_not_answer_changes_no_job(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = _running(experiment, small, RUNS_LONG)
    before = tick_once(run)
    small.before_poll = lambda: _raise(Unreachable("no route"))
    tick_until_true(run, "another heartbeat", lambda a: a.heartbeat > before.heartbeat)
    local.refresh_from_db()
    first_silence = local.unreachable_since_at
    assert attempt_of(run).state == State.RUNNING.value and first_silence is not None
    tick_once(run)
    local.refresh_from_db()
    assert local.unreachable_since_at == first_silence
    small.before_poll = lambda: None
    tick_once(run)
    local.refresh_from_db()
    assert local.unreachable_since_at is None and local.answered_at is not None


def test_a_cluster_with_nothing_to_ask_has_not_answered(local: Cluster) -> None:
    assert reconcile.reconcile_cluster(local)
    local.refresh_from_db()
    assert local.ticked_at is not None and local.answered_at is None


def test_silent_cluster_without_jobs_is_polled_after_a_minute(local: Cluster) -> None:
    silent_since = timezone.now() - timedelta(hours=1)
    Cluster.objects.update(unreachable_since_at=silent_since, ticked_at=timezone.now())
    assert reconcile.reconcile_cluster(local)
    local.refresh_from_db()
    assert (local.unreachable_since_at, local.answered_at) == (silent_since, None)
    Cluster.objects.update(ticked_at=timezone.now() - timedelta(minutes=2))
    assert reconcile.reconcile_cluster(local)
    local.refresh_from_db()
    assert local.unreachable_since_at is None and local.answered_at is not None


def test_a_dead_cluster_without_jobs_stays_silent(db: None) -> None:
    silent_since = timezone.now() - timedelta(hours=1)
    dead = Cluster.objects.create(
        name="rays", kind="ray", config={"dashboard": "http://127.0.0.1:9"}, unreachable_since_at=silent_since
    )
    assert reconcile.reconcile_cluster(dead)
    dead.refresh_from_db()
    assert (dead.unreachable_since_at, dead.answered_at) == (silent_since, None)


def test_forgotten_job_is_lost_after_its_last_heartbeat(experiment: Experiment, small: Small, local: Cluster) -> None:
    quicken(local, gone=PATIENCE_SECONDS)
    run = _running(experiment, small, RUNS_LONG)
    attempt = attempt_of(run)
    shutil.rmtree(small.root)
    tick_until_true(
        run,
        "a heartbeat of the job that the cluster forgot",
        lambda a: a.gone_since_at and (a.heartbeat_seen_at or a.gone_since_at) > a.gone_since_at,
    )
    warnings = attempt.events.filter(level="warning")
    assert [event.why for event in warnings] == ["local does not know the job; checking again before it counts as lost"]
    agent = owner(attempt.directory)
    assert agent is not None
    agent.send(signal.SIGKILL)
    quicken(local, gone=0.2)
    assert tick_until(run, State.LOST.value).reason == "local has reported no such job for 0.2 s"


def test_a_forgotten_job_that_ends_well_has_succeeded(experiment: Experiment, small: Small, local: Cluster) -> None:
    quicken(local, gone=3600.0)
    small.program = (
        "import pathlib, time\nopen('started', 'w')\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)"
    )
    run = run_of(experiment)
    attempt = tick_until(run, State.RUNNING.value)
    shutil.rmtree(small.root)
    (attempt.directory / "go").touch()
    tick_until(run, State.SUCCEEDED.value)


def test_a_manager_that_slept_through_it_all_learns_of_it(experiment: Experiment, small: Small) -> None:
    """The worker died after the submit; the program ended long ago."""
    small.program = "raise SystemExit(7)"
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    wait_until((attempt_of(run).directory / "exit.json").exists, "the exit record")
    ended = tick_until(run, State.FAILED.value)
    assert ended.exit_code == 7 and ended.submits == 1


def test_files_of_one_attempt_that_cannot_be_read_hold_up_no_other(experiment: Experiment, small: Small) -> None:
    bad, good = _running(experiment, small, RUNS_LONG), _running(experiment, small, CHECKPOINTS)
    (attempt_of(bad).directory / "exit.json").write_text('{"strange": 1}')
    launching.request_cancel(good)

    def seen_to() -> bool:
        with pytest.raises(ExceptionGroup, match="cannot be read"):
            reconcile.reconcile_cluster(attempt_of(good).cluster)
        return attempt_of(good).state == State.CANCELLED.value

    wait_until(seen_to, "the other attempt to be cancelled")
    assert attempt_of(bad).state == State.RUNNING.value


def test_stopping_esweb_interrupts_what_runs_and_starts_nothing(
    experiment: Experiment, small: Small, local: Cluster
) -> None:
    polite = _running(experiment, small, CHECKPOINTS)
    quicken(local, grace=0.1)
    stubborn = _running(experiment, small, IGNORES_TERM)
    waiting = run_of(experiment)
    tick_once(waiting)
    stopped = reconcile.interrupt_local(PATIENCE_SECONDS)
    assert sorted(stopped) == sorted(attempt_of(run).key for run in (polite, stubborn))
    for run, code in ((polite, 75), (stubborn, None)):
        ended = attempt_of(run)
        assert (ended.state, ended.reason, ended.exit_code) == (State.INTERRUPTED.value, "esweb was stopped", code)
    assert attempt_of(waiting).state == State.QUEUED.value
    assert owner(attempt_of(waiting).directory) is None


def test_kill_without_grace_is_reported_correctly(experiment: Experiment, small: Small) -> None:
    run = _running(experiment, small, IGNORES_TERM)
    reconcile.interrupt_local(0.0)
    ended = attempt_of(run)
    assert (ended.state, ended.reason, ended.exit_code) == (State.INTERRUPTED.value, "esweb was stopped", None)


def test_a_restart_of_the_machine_is_an_interruption(experiment: Experiment, small: Small) -> None:
    run = _running(experiment, small, RUNS_LONG)
    queue = Tickets(small.root)
    ticket = queue.get(attempt_of(run).key)
    assert ticket is not None and ticket.owner is not None
    with queue.lock():
        queue.put(replace(ticket, owner=replace(ticket.owner, boot="the boot before")))
    assert tick_until(run, State.INTERRUPTED.value).reason == "the machine was restarted"
    ticket.owner.send(signal.SIGTERM)


@pytest.fixture
def other_session(transactional_db: None) -> Iterator[threading.Thread]:
    """Start a second database session of the manager that ticks the same cluster repeatedly."""
    stop = threading.Event()

    def ticks() -> None:
        while not stop.is_set():
            for cluster in Cluster.objects.all():
                reconcile.reconcile_cluster(cluster)
        connection.close()

    thread = threading.Thread(target=ticks)
    yield thread
    stop.set()
    thread.join()


@pytest.mark.django_db(transaction=True)
def test_concurrent_ticks_run_a_job_once(experiment: Experiment, small: Small, other_session: threading.Thread) -> None:
    small.program = "open('ran', 'a').write('x')"
    other_session.start()
    runs = [run_of(experiment) for _ in range(2)]

    def all_done() -> bool:
        reconcile.reconcile_cluster(attempt_of(runs[0]).cluster)
        return all(attempt_of(run).state == State.SUCCEEDED.value for run in runs)

    wait_until(all_done, "both runs to succeed")
    attempts = [attempt_of(run) for run in runs]
    assert [(a.directory / "ran").read_text() for a in attempts] == ["x"] * 2
    assert sorted(small.submitted) == sorted(a.key for a in attempts)
    for attempt in attempts:
        assert attempt.events.filter(to_state=State.SUCCEEDED.value).count() == 1


@pytest.mark.django_db(transaction=True)
def test_tick_skips_a_cluster_that_another_tick_holds(experiment: Experiment, small: Small) -> None:
    run = run_of(experiment)
    outcomes: list[bool] = []

    def tick_beside() -> None:
        outcomes.append(reconcile.reconcile_cluster(attempt_of(run).cluster))
        connection.close()

    def tick_within() -> None:
        other_tick = threading.Thread(target=tick_beside)
        other_tick.start()
        other_tick.join()

    small.before_submit = tick_within
    assert reconcile.reconcile_cluster(attempt_of(run).cluster) is True
    assert outcomes == [False]


def test_cluster_is_not_polled_about_ended_attempts(
    experiment: Experiment, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(experiment)
    tick_until(run, State.SUCCEEDED.value)
    small.before_poll = lambda: pytest.fail("asked")
    before = Attempt.objects.values().get()
    tick_once(run)
    assert Attempt.objects.values().get() == before


def test_a_clock_that_was_set_back_holds_up_no_end(experiment: Experiment, small: Small) -> None:
    run = _running(experiment, small, RUNS_LONG)
    attempt = attempt_of(run)
    tomorrow = timezone.now() + timedelta(days=1)
    launching.update_facts(attempt, final_since_at=tomorrow, gone_since_at=tomorrow, heartbeat_seen_at=tomorrow)
    agent = owner(attempt.directory)
    assert agent is not None
    agent.send(signal.SIGKILL)
    shutil.rmtree(small.root)
    tick_until(run, State.LOST.value)


def test_a_longer_patience_waits_longer(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = _running(experiment, small, RUNS_LONG)
    quicken(local, exit_record=3600.0)
    agent = owner(attempt_of(run).directory)
    assert agent is not None
    agent.send(signal.SIGKILL)
    tick_until_true(run, "the cluster to call the job ended", lambda a: a.final_since_at)
    assert tick_once(run).state == State.RUNNING.value
