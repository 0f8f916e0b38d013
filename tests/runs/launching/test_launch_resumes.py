"""A run that ended early resumes: one new attempt, from the newest complete checkpoint, and no other attempt."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from django.db import connection

from runs import checkpoints, launching
from runs.ingest import ingest
from runs.launching.submit import spec_of
from runs.models import Attempt, AttemptEvent, Experiment, Origin, Run
from tests.cases import each_case
from tests.runs.attempt_records import lines
from tests.runs.local_cluster import Small, attempt_of, run_of, tick_once, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS, RUNS_LONG
from workers.attempt import CLOSED_EPOCH, lease, owner
from workers.executors.states import State
from workers.records import Checkpoint

ENDED = [s for s in State if s.is_final and s != State.SUCCEEDED]


def make_ended_run(experiment: Experiment, state: State = State.INTERRUPTED) -> Run:
    """Create a run whose only attempt has ended in this state, without a cluster."""
    run = run_of(experiment)
    launching.transition(attempt_of(run), state, "the end")
    run.refresh_from_db()
    return run


def save_checkpoint(run: Run, step: int, *, record: bool = True, size: int = 100) -> Path:
    """Save a checkpoint of the run's newest attempt, on disk and, unless `record` is false, in the database."""
    attempt = attempt_of(run)
    folder = attempt.directory / "checkpoints" / f"step-{step:06d}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"w" * 100)
    if record:
        record_file = attempt.record_files.filter(epoch=0).first()
        checkpoint = Checkpoint(step, f"checkpoints/{folder.name}", size, "ab" * 32)
        ingest(attempt, 0, lines([checkpoint], record_file.next_seq if record_file else 0))
    return folder


@each_case("state", ENDED)
def test_run_resumes_from_its_checkpoint_after_any_early_end(
    experiment: Experiment, small: Small, state: State
) -> None:
    run = make_ended_run(experiment, state)
    folder = save_checkpoint(run, 20)
    attempt = launching.create_resume_attempt(run, experiment.owner)
    assert (attempt.n, attempt.state, attempt.origin) == (2, State.CREATED.value, Origin.RESUME)
    assert (attempt.resumed_attempt, attempt.resumed_step, attempt.resumed_from) == (1, 20, folder)
    assert spec_of(attempt).argv[-2:] == ("--resume", os.path.relpath(folder, attempt.directory))
    run.refresh_from_db()
    assert run.state == State.CREATED.value
    reason = AttemptEvent.objects.get(attempt=attempt).why
    assert reason == "resumed by ada, to run on local; resumes from step 20, saved by attempt 1"


def test_resume_without_a_checkpoint_starts_from_the_beginning(experiment: Experiment, small: Small) -> None:
    attempt = launching.create_resume_attempt(make_ended_run(experiment))
    assert attempt.resumed_from is None and "--resume" not in spec_of(attempt).argv
    assert AttemptEvent.objects.get(attempt=attempt).why.endswith("because there is no checkpoint")


def test_a_checkpoint_that_lost_files_or_is_gone_is_passed_over(experiment: Experiment, small: Small) -> None:
    run = make_ended_run(experiment)
    save_checkpoint(run, 10)
    save_checkpoint(run, 20, size=101)
    shutil.rmtree(save_checkpoint(run, 30))
    assert launching.create_resume_attempt(run).resumed_step == 10


def test_a_checkpoint_whose_record_is_not_read_yet_counts(experiment: Experiment, small: Small) -> None:
    run = make_ended_run(experiment)
    save_checkpoint(run, 10)
    save_checkpoint(run, 20, record=False)
    assert launching.create_resume_attempt(run).resumed_step == 20


def test_a_record_that_points_elsewhere_is_not_followed(experiment: Experiment, small: Small) -> None:
    run = make_ended_run(experiment)
    attempt = attempt_of(run)
    elsewhere = attempt.directory / "elsewhere"
    elsewhere.mkdir(parents=True)
    (attempt.directory / "checkpoints").mkdir()
    (attempt.directory / "checkpoints" / "step-000005").symlink_to(elsewhere)
    ingest(attempt, 0, lines([Checkpoint(4, "elsewhere", 0, "ab" * 32), Checkpoint(5, "x/y", 0, "ab" * 32)]))
    assert checkpoints.newest(run) is None


def test_resume_uses_the_last_attempt_with_a_checkpoint(experiment: Experiment, small: Small) -> None:
    """An attempt that went back took another path: what earlier ones had saved further on is history."""
    run = make_ended_run(experiment)
    save_checkpoint(run, 40)
    launching.transition(launching.new_attempt(run), State.FAILED, "no memory")
    assert launching.new_attempt(run).resumed_step == 40
    save_checkpoint(run, 25)
    launching.transition(attempt_of(run), State.FAILED, "no memory")
    assert (attempt := launching.new_attempt(run)).resumed_step == 25 and attempt.resumed_attempt == 3


def test_finished_run_is_cloned_instead_of_resumed(experiment: Experiment, small: Small) -> None:
    run = make_ended_run(experiment, State.SUCCEEDED)
    with pytest.raises(launching.CannotResume, match="has reached its last step; clone it"):
        launching.create_resume_attempt(run)
    assert Attempt.objects.count() == 1


def test_repeated_request_creates_one_attempt(experiment: Experiment, small: Small) -> None:
    run = make_ended_run(experiment)
    launching.create_resume_attempt(run)
    with pytest.raises(launching.CannotResume, match=r"has not ended \(created\)"):
        launching.create_resume_attempt(run)
    assert Attempt.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_create_one_attempt(experiment: Experiment, small: Small) -> None:
    run = make_ended_run(experiment)
    refused: list[str] = []

    def request_resume() -> None:
        try:
            launching.create_resume_attempt(Run.objects.get(pk=run.pk))
        except launching.CannotResume as error:
            refused.append(str(error))
        connection.close()

    both = [threading.Thread(target=request_resume) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(refused) == 1 and Attempt.objects.count() == 2


def test_config_that_is_no_longer_valid_is_reported(experiment: Experiment, small: Small) -> None:
    run = make_ended_run(experiment)
    run.config["es"]["itertions"] = 3
    run.save()
    with pytest.raises(launching.CannotResume, match=r"clone it and fix: es.itertions: is not a known key"):
        launching.create_resume_attempt(Run.objects.get(pk=run.pk))


def test_previous_attempt_is_fenced_first(experiment: Experiment, small: Small) -> None:
    small.program = RUNS_LONG
    run = run_of(experiment)
    first = tick_until(run, State.RUNNING.value)
    wait_until((first.directory / "started").exists, "the program to start")
    agent = owner(first.directory)
    assert agent is not None
    # The cluster has lost sight of it, wrongly: its agent lives on.
    launching.transition(first, State.PREEMPTED, "says the cluster")
    run.refresh_from_db()
    small.before_submit = lambda: assert_closed(first)
    launching.create_resume_attempt(run)
    tick_until(run, State.QUEUED.value, State.RUNNING.value)
    wait_until(lambda: not agent.is_alive(), "the agent of attempt 1 to end")


def assert_closed(attempt: Attempt) -> None:
    assert lease(attempt.directory) == CLOSED_EPOCH


def test_a_resumed_run_runs_to_its_end(experiment: Experiment, small: Small) -> None:
    small.program = CHECKPOINTS
    run = run_of(experiment)
    first = tick_until(run, State.RUNNING.value)
    wait_until((first.directory / "started").exists, "the program to start")
    launching.request_cancel(run)
    tick_until(run, State.CANCELLED.value)
    run.refresh_from_db()
    small.program = "pass"
    launching.create_resume_attempt(run)
    assert tick_until(run, State.SUCCEEDED.value).n == 2
    run.refresh_from_db()
    assert run.state == State.SUCCEEDED.value
    assert tick_once(run).key == small.submitted[-1] == f"esweb-{run.uid}-a2"
