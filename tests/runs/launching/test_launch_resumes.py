"""A run that ended early goes on: one new attempt, from the newest checkpoint that is whole, and nothing beside it."""

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
from tests.runs.attempt_records import lines
from tests.runs.local_cluster import Small, attempt_of, run_of, tick_until, ticked
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS, RUNS_LONG
from workers.attempt import CLOSED_EPOCH, lease, owner
from workers.executors.states import State
from workers.records import Checkpoint

ENDED = [s for s in State if s.is_final and s != State.SUCCEEDED]


def ended(experiment: Experiment, state: State = State.INTERRUPTED) -> Run:
    """A run whose only attempt has ended so, without a cluster."""
    run = run_of(experiment)
    launching.move(attempt_of(run), state, "the end")
    run.refresh_from_db()
    return run


def saved(run: Run, step: int, *, record: bool = True, size: int = 100) -> Path:
    """A checkpoint of the run's newest attempt, on disk and, unless told otherwise, in the database."""
    attempt = attempt_of(run)
    folder = attempt.directory / "checkpoints" / f"step-{step:06d}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"w" * 100)
    if record:
        known = attempt.record_files.filter(epoch=0).first()
        said = Checkpoint(step, f"checkpoints/{folder.name}", size, "ab" * 32)
        ingest(attempt, 0, lines([said], known.next_seq if known else 0))
    return folder


@pytest.mark.parametrize("state", ENDED)
def test_whatever_ended_it_early_it_goes_on(experiment: Experiment, small: Small, state: State) -> None:
    run = ended(experiment, state)
    folder = saved(run, 20)
    attempt = launching.create_resume_attempt(run, experiment.owner)
    assert (attempt.n, attempt.state, attempt.origin) == (2, State.CREATED.value, Origin.RESUME)
    assert (attempt.resumed_attempt, attempt.resumed_step, attempt.resumed_from) == (1, 20, folder)
    assert spec_of(attempt).argv[-2:] == ("--resume", os.path.relpath(folder, attempt.directory))
    run.refresh_from_db()
    assert run.state == State.CREATED.value
    why = AttemptEvent.objects.get(attempt=attempt).why
    assert why == "resumed by ada, to run on local; it goes on from step 20, saved by attempt 1"


def test_without_a_checkpoint_it_starts_from_the_beginning_and_says_so(experiment: Experiment, small: Small) -> None:
    attempt = launching.create_resume_attempt(ended(experiment))
    assert attempt.resumed_from is None and "--resume" not in spec_of(attempt).argv
    assert AttemptEvent.objects.get(attempt=attempt).why.endswith("so that it starts from the beginning")


def test_a_checkpoint_that_lost_files_or_is_gone_is_passed_over(experiment: Experiment, small: Small) -> None:
    run = ended(experiment)
    saved(run, 10)
    saved(run, 20, size=101)
    shutil.rmtree(saved(run, 30))
    assert launching.create_resume_attempt(run).resumed_step == 10


def test_a_checkpoint_whose_record_is_not_read_yet_counts(experiment: Experiment, small: Small) -> None:
    run = ended(experiment)
    saved(run, 10)
    saved(run, 20, record=False)
    assert launching.create_resume_attempt(run).resumed_step == 20


def test_a_record_that_points_elsewhere_is_not_followed(experiment: Experiment, small: Small) -> None:
    run = ended(experiment)
    attempt = attempt_of(run)
    elsewhere = attempt.directory / "elsewhere"
    elsewhere.mkdir(parents=True)
    (attempt.directory / "checkpoints").mkdir()
    (attempt.directory / "checkpoints" / "step-000005").symlink_to(elsewhere)
    ingest(attempt, 0, lines([Checkpoint(4, "elsewhere", 0, "ab" * 32), Checkpoint(5, "x/y", 0, "ab" * 32)]))
    assert checkpoints.newest(run) is None


def test_the_last_attempt_that_saved_one_says_where_it_goes_on(experiment: Experiment, small: Small) -> None:
    """An attempt that went back took another path: what earlier ones had saved further on is history."""
    run = ended(experiment)
    saved(run, 40)
    launching.move(launching.new_attempt(run), State.FAILED, "no memory")
    assert launching.new_attempt(run).resumed_step == 40
    saved(run, 25)
    launching.move(attempt_of(run), State.FAILED, "no memory")
    assert (attempt := launching.new_attempt(run)).resumed_step == 25 and attempt.resumed_attempt == 3


def test_what_has_reached_its_end_is_to_be_cloned(experiment: Experiment, small: Small) -> None:
    run = ended(experiment, State.SUCCEEDED)
    with pytest.raises(launching.CannotResume, match="has reached its last step; clone it"):
        launching.create_resume_attempt(run)
    assert Attempt.objects.count() == 1


def test_asked_twice_it_is_one_attempt(experiment: Experiment, small: Small) -> None:
    run = ended(experiment)
    launching.create_resume_attempt(run)
    with pytest.raises(launching.CannotResume, match="has not ended: it is created"):
        launching.create_resume_attempt(run)
    assert Attempt.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_at_the_same_moment_make_one_attempt(experiment: Experiment, small: Small) -> None:
    run = ended(experiment)
    refused: list[str] = []

    def asks() -> None:
        try:
            launching.create_resume_attempt(Run.objects.get(pk=run.pk))
        except launching.CannotResume as error:
            refused.append(str(error))
        connection.close()

    both = [threading.Thread(target=asks) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(refused) == 1 and Attempt.objects.count() == 2


def test_a_config_that_no_longer_fits_is_said(experiment: Experiment, small: Small) -> None:
    run = ended(experiment)
    run.config["es"]["itertions"] = 3
    run.save()
    with pytest.raises(launching.CannotResume, match=r"clone it and put right: es.itertions: is not a known key"):
        launching.create_resume_attempt(Run.objects.get(pk=run.pk))


def test_what_is_left_of_the_attempt_before_is_shut_out_first(experiment: Experiment, small: Small) -> None:
    small.program = RUNS_LONG
    run = run_of(experiment)
    first = tick_until(run, State.RUNNING.value)
    wait_until((first.directory / "started").exists, "the program to start")
    agent = owner(first.directory)
    assert agent is not None
    # The cluster has lost sight of it, wrongly: its agent lives on.
    launching.move(first, State.PREEMPTED, "says the cluster")
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
    assert ticked(run).key == small.submitted[-1] == f"esweb-{run.uid}-a2"
