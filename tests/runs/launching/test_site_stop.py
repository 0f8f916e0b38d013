"""Who stops esweb has not stopped the runs: the next start resumes what its stop has ended, and nothing else."""

from __future__ import annotations

import signal
from dataclasses import asdict
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from runs import launching
from runs.launching import reconcile
from runs.launching.reconcile import interrupt
from runs.launching.sweeps.commands import cancel_sweep, unpause_sweep
from runs.launching.sweeps.pause import pause_sweep
from runs.models import Attempt, Cluster, Experiment, Hold, Origin, Run
from tests.cases import each_case
from tests.runs.launching.sweeps.test_commands import sweep_of
from tests.runs.launching.test_launch_resumes import save_checkpoint
from tests.runs.local_cluster import QUICK, Small, attempt_of, quicken, run_of, tick_cluster, tick_once, tick_until
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import AWAITS_SIGNAL, CHECKPOINTS, HAS_STARTED, IGNORES_TERM
from workers.attempt import owner
from workers.executors.base import Ambiguous
from workers.executors.states import State

ON_TERM = f"""
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit({{code}}))
{HAS_STARTED}
{AWAITS_SIGNAL}
"""


def start(experiment: Experiment, small: Small, program: str = CHECKPOINTS, **compute: Any) -> Run:
    """Launch a run with this program and wait until it trains."""
    small.program = program
    run = run_of(experiment, **compute)
    await_start(run)
    return run


def await_start(run: Run) -> Attempt:
    attempt = tick_until(run, State.RUNNING.value)
    wait_until((attempt.directory / "started").exists, "the program to start")
    return attempt


def stop_site(cause: str = "") -> list[str]:
    return reconcile.interrupt_local(PATIENCE_SECONDS, cause)


def events(attempt: Attempt) -> list[str]:
    return [event.why for event in attempt.events.order_by("pk")]


def test_run_resumes_from_its_newest_checkpoint_and_finishes(experiment: Experiment, small: Small) -> None:
    run = start(experiment, small)
    save_checkpoint(run, 20)
    assert stop_site("SIGTERM") == [attempt_of(run).key]
    first = attempt_of(run)
    assert (first.state, first.reason) == ("interrupted", "esweb was stopped by SIGTERM")
    assert events(first)[-1] == "resumes automatically when esweb starts again"
    small.program = "pass"
    second = tick_until(run, State.SUCCEEDED.value)
    assert (second.n, second.origin, second.resumed_step) == (2, Origin.SITE_START, 20)
    assert second.is_automatic and launching.count_restarts(run) == 0
    text = "resumed automatically, because a stop of esweb had ended it, to run on local"
    assert events(second)[0] == f"{text}; resumes from step 20, saved by attempt 1"


def test_run_without_a_checkpoint_starts_from_the_beginning(experiment: Experiment, small: Small) -> None:
    run = start(experiment, small)
    stop_site()
    assert events(tick_once(run))[0].endswith("; starts from the beginning, because there is no checkpoint")


@each_case(("method", "text"), [("evaluate", "not evaluated yet"), ("probe", "not complete yet"), ("scorer", "again")])
def test_run_of_another_kind_resumes_too(experiment: Experiment, small: Small, method: str, text: str) -> None:
    run = run_of(experiment)
    Run.objects.filter(pk=run.pk).update(method=method)
    stopped = attempt_of(run)
    launching.transition(stopped, State.INTERRUPTED, "esweb was stopped", native_state="stopped")
    launching.plan_restart(stopped)
    assert events(tick_once(run))[0].endswith(text)


def test_stops_take_nothing_from_the_budget(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = start(experiment, small, restarts=1)
    for n in (2, 3):
        stop_site()
        assert await_start(run).n == n
    agent = owner(attempt_of(run).directory)
    assert agent is not None
    agent.send(signal.SIGKILL)
    ended = tick_until(run, State.LOST.value)
    assert events(ended)[-1].endswith("restart 1 of 1")


def test_second_stop_before_the_first_tick_changes_nothing(experiment: Experiment, small: Small) -> None:
    run = start(experiment, small)
    stop_site()
    before = Attempt.objects.values().get()
    assert stop_site() == []
    assert Attempt.objects.values().get() == before
    assert await_start(run).n == 2


def test_attempt_that_is_not_submitted_waits_through_stops(
    experiment: Experiment, small: Small, local: Cluster
) -> None:
    quicken(local, gone=0.0)
    run = run_of(experiment)
    for _ in range(3):
        stop_site()
    attempt = attempt_of(run)
    assert (attempt.state, len(events(attempt))) == (State.CREATED.value, 1)
    assert tick_until(run, State.RUNNING.value, State.SUCCEEDED.value).n == 1


@pytest.mark.parametrize("fault", ["before_submit", "after_submit"])
def test_stop_during_a_submit_loses_and_doubles_nothing(experiment: Experiment, small: Small, fault: str) -> None:
    def die() -> None:
        raise Ambiguous("the worker was stopped")

    small.program = CHECKPOINTS
    setattr(small, fault, die)
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    if fault == "after_submit":
        wait_until((attempt_of(run).directory / "started").exists, "the program to start")
    stop_site()
    is_resumed = fault == "after_submit"
    assert attempt_of(run).state == (State.INTERRUPTED if is_resumed else State.SUBMITTING).value
    setattr(small, fault, lambda: None)
    attempt = await_start(run)
    assert attempt.n == (2 if is_resumed else 1)
    assert (attempt.directory / "started").read_text() == "x"


def test_waiting_run_starts_after_the_resumed_one(experiment: Experiment, small: Small) -> None:
    first = start(experiment, small, cores=2)
    second = run_of(experiment, cores=2)
    tick_until(second, State.QUEUED.value)
    stop_site()
    assert (attempt_of(first).state, attempt_of(second).state) == ("interrupted", "queued")
    await_start(first)
    waiting = attempt_of(second)
    assert (waiting.n, waiting.state, waiting.reason[:19]) == (1, "queued", "waiting for 2 cores")


def test_cancelled_run_stays_cancelled(experiment: Experiment, small: Small) -> None:
    run = start(experiment, small)
    launching.request_cancel(run, experiment.owner)
    stop_site()
    ended = tick_once(run)
    assert (ended.n, ended.state, ended.restart_at) == (1, State.CANCELLED.value, None)


def test_cancel_after_the_start_calls_the_resume_off(experiment: Experiment, small: Small) -> None:
    run = start(experiment, small)
    stop_site()
    assert launching.request_cancel(run, experiment.owner) is None
    assert tick_once(run).n == 1


@each_case(("code", "state"), [(0, State.SUCCEEDED), (1, State.FAILED), (74, State.FAILED)])
def test_program_that_was_done_or_failed_at_the_stop_is_recorded_so(
    experiment: Experiment, small: Small, code: int, state: State
) -> None:
    run = start(experiment, small, ON_TERM.format(code=code))
    stop_site()
    ended = tick_once(run)
    assert (ended.n, ended.state, ended.exit_code, ended.restart_at) == (1, state.value, code, None)


def test_agent_that_a_service_manager_stopped_too_ended_with_the_site(experiment: Experiment, small: Small) -> None:
    run = start(experiment, small)
    directory = attempt_of(run).directory
    agent = owner(directory)
    assert agent is not None
    agent.send(signal.SIGTERM)
    wait_until((directory / "exit.json").exists, "the exit record")
    assert stop_site("SIGTERM") == [attempt_of(run).key]
    assert attempt_of(run).reason == "esweb was stopped by SIGTERM"
    assert await_start(run).n == 2


def test_setting_leaves_stopped_runs_to_their_users(experiment: Experiment, small: Small, settings: Settings) -> None:
    run = start(experiment, small)
    settings.RESUME_AFTER_STOP = False
    stop_site()
    for _ in range(2):
        ended = tick_once(run)
    assert (ended.n, ended.restart_at) == (1, None)
    text = "not resumed automatically, because ESWEB_RESUME_AFTER_STOP is 0"
    assert ended.reason == f"esweb was stopped; {text}" and events(ended).count(text) == 1
    assert launching.create_resume_attempt(Run.objects.get(pk=run.pk)).n == 2


def test_run_of_a_paused_sweep_waits_until_the_sweep_continues(
    experiment: Experiment, small: Small, local: Cluster
) -> None:
    small.program = CHECKPOINTS
    sweep = sweep_of(experiment, at_once=1)
    run = sweep.runs.order_by("pk")[0]
    await_start(run)
    pause_sweep(sweep)
    stop_site()
    for _ in range(2):
        tick_cluster(local)
    assert (attempt_of(run).n, attempt_of(run).hold) == (2, Hold.SWEEP)
    assert Attempt.objects.on_hold().filter(run__sweep=sweep).count() == sweep.runs.count()
    unpause_sweep(sweep)
    assert await_start(run).n == 2
    cancel_sweep(sweep, experiment.owner)


def test_jobs_of_other_clusters_are_left_alone(experiment: Experiment, small: Small) -> None:
    run = run_of(experiment)
    waits = asdict(QUICK)
    for kind, config in (("slurm", {"waits": waits}), ("ray", {"dashboard": "http://127.0.0.1:9", "waits": waits})):
        far = Cluster.objects.create(name=f"far-{kind}", kind=kind, config=config)
        Attempt.objects.filter(run=run).update(cluster=far, state=State.RUNNING.value)
        before = Attempt.objects.values().get()
        assert stop_site() == []
        assert Attempt.objects.values().get() == before


def test_report_names_what_resumes_and_what_ended(experiment: Experiment, small: Small) -> None:
    resumed, stubborn = start(experiment, small), start(experiment, small, ON_TERM.format(code=0))
    keys = [attempt_of(run).key for run in (resumed, stubborn)]
    lines: list[str] = []
    interrupt.interrupt_and_report(lines.append, "SIGINT")
    assert lines == [
        f"stopped on this machine; the next start resumes them: {keys[0]}",
        f"ended on this machine: {keys[1]}",
    ]


def test_report_says_that_users_resume_runs_if_the_setting_is_off(
    experiment: Experiment, small: Small, settings: Settings
) -> None:
    settings.RESUME_AFTER_STOP = False
    run = start(experiment, small, IGNORES_TERM)
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interrupt, "GRACE_SECONDS", 0.1)
        interrupt.interrupt_and_report(lines.append)
    plan = "ESWEB_RESUME_AFTER_STOP is 0, so resume them on their pages"
    assert lines == [f"stopped on this machine; {plan}: {attempt_of(run).key}"]
