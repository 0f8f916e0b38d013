"""An attempt is submitted once, under crashes at any line and concurrent tries."""

from __future__ import annotations

import json
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from runs import launching
from runs.launching.submit import spec_of
from runs.models import Cluster, Experiment
from tests.runs.local_cluster import QUICK, Small, attempt_of, quicken, run_of, tick_once, tick_until
from workers.executors.base import Ambiguous, Rejected, Unreachable
from workers.executors.states import State

COUNTS = "open('ran', 'a').write('x')"


class Killed(BaseException):
    """Simulate the death of the process at this line."""


def _die() -> None:
    raise Killed


def _refuse(error: Exception) -> None:
    raise error


def test_submission_passes_config_and_command(
    experiment: Experiment, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run = run_of(experiment, time_limit_seconds=7, cores=2)
    attempt = attempt_of(run)
    spec = spec_of(attempt)
    assert spec.argv == (sys.executable, "-m", "workers.train", "run.json", "--out", ".")
    assert (spec.cores, spec.time_limit_seconds, spec.grace_seconds) == (2, 7, QUICK.grace)
    assert spec.env is not None and set(spec.env) == {"ESWEB_CACHE", "ESWEB_DATA_PATHS", "HF_HUB_OFFLINE"}
    launching.submit_job(attempt)
    assert json.loads((attempt.directory / "run.json").read_text()) == run.config
    attempt = attempt_of(run)
    assert (attempt.state, attempt.native_id, attempt.submits) == (State.QUEUED.value, attempt.key, 1)


@pytest.mark.parametrize("where", ["before_submit", "after_submit"])
def test_a_process_killed_around_the_call_leaves_a_run_that_runs_once(
    experiment: Experiment, small: Small, where: str
) -> None:
    small.program = COUNTS
    run = run_of(experiment)
    setattr(small, where, _die)
    with pytest.raises(Killed):
        launching.submit_job(attempt_of(run))
    setattr(small, where, lambda: None)
    left = attempt_of(run)
    assert left.state == State.SUBMITTING.value and left.submit_started_at is not None
    ended = tick_until(run, State.SUCCEEDED.value)
    assert (ended.directory / "ran").read_text() == "x"
    assert len(small.submitted) == (2 if where == "before_submit" else 1)


@pytest.mark.parametrize("step", ["prepare", "executor_for", "claim_call", "spec_of", "update_facts"])
def test_a_process_killed_between_any_two_steps_is_made_up_for(
    experiment: Experiment, small: Small, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    small.program = COUNTS
    run = run_of(experiment)
    with monkeypatch.context() as patch:
        patch.setattr(f"runs.launching.submit.{step}", lambda *_, **__: _die())
        patch.setattr(small, "before_submit", lambda: _refuse(Unreachable("gone")) if step == "update_facts" else None)
        with pytest.raises(Killed):
            launching.submit_job(attempt_of(run))
    assert (tick_until(run, State.SUCCEEDED.value).directory / "ran").read_text() == "x"


@pytest.mark.parametrize("error", [Ambiguous("Socket timed out"), Unreachable("no route")])
def test_unclear_reply_is_checked_before_the_next_submission(
    experiment: Experiment, small: Small, local: Cluster, error: Exception
) -> None:
    small.program = COUNTS
    quicken(local, ambiguous=3600.0)
    run = run_of(experiment)
    small.after_submit = lambda: _refuse(error)
    launching.submit_job(attempt_of(run))
    unclear = attempt_of(run)
    assert unclear.state == State.SUBMITTING.value and str(error) in unclear.reason
    assert tick_until(run, State.SUCCEEDED.value).submits == 1


def test_submission_is_repeated_only_after_a_long_absence(experiment: Experiment, small: Small, local: Cluster) -> None:
    quicken(local, ambiguous=3600.0)
    run = run_of(experiment)
    small.before_submit = lambda: _refuse(Ambiguous("Socket timed out"))
    launching.submit_job(attempt_of(run))
    for _ in range(3):
        assert tick_once(run).state == State.SUBMITTING.value
    assert small.submitted == [attempt_of(run).key]
    quicken(local, ambiguous=0.0)
    small.before_submit = lambda: None
    assert tick_until(run, State.SUCCEEDED.value).submits == 2


def test_a_clock_that_was_set_back_holds_up_no_submit(experiment: Experiment, small: Small) -> None:
    run = run_of(experiment)
    small.before_submit = lambda: _refuse(Ambiguous("Socket timed out"))
    launching.submit_job(attempt_of(run))
    tomorrow = timezone.now() + timedelta(days=1)
    launching.update_facts(attempt_of(run), submit_started_at=tomorrow, gone_since_at=tomorrow)
    small.before_submit = lambda: None
    assert tick_until(run, State.SUCCEEDED.value).submits == 2


def test_a_refusal_ends_the_attempt_with_the_numbers(experiment: Experiment, small: Small) -> None:
    small.cores = 3
    run = run_of(experiment, cores=3)
    small.cores = 2
    launching.submit_job(attempt_of(run))
    refused = attempt_of(run)
    assert (refused.state, refused.submits) == (State.FAILED.value, 1)
    assert refused.reason == "local refused it: requests 3 cores; this machine offers runs 2"


def test_a_refusal_in_the_clusters_words_is_passed_on(experiment: Experiment, small: Small) -> None:
    small.before_submit = lambda: _refuse(Rejected("Invalid account"))
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    assert attempt_of(run).reason == "local refused it: Invalid account"


def test_unwritable_directory_is_reported_and_retried(experiment: Experiment, small: Small, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file in the way")
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    stuck = attempt_of(run)
    assert stuck.state == State.SUBMITTING.value and "cannot be written" in stuck.reason and stuck.submits == 0
    (tmp_path / "runs").unlink()
    tick_until(run, State.SUCCEEDED.value)


@pytest.mark.django_db(transaction=True)
def test_many_submits_at_once_run_it_once(experiment: Experiment, small: Small) -> None:
    small.program = COUNTS
    run = run_of(experiment)

    def submit() -> None:
        launching.submit_job(attempt_of(run))
        connection.close()

    threads = [threading.Thread(target=submit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = tick_until(run, State.SUCCEEDED.value)
    assert (ended.directory / "ran").read_text() == "x"
    assert small.submitted == [ended.key] and ended.submits == 1


def test_missed_submission_is_made_by_the_tick(experiment: Experiment, small: Small) -> None:
    small.program = COUNTS
    run = run_of(experiment)
    assert (tick_until(run, State.SUCCEEDED.value).directory / "ran").read_text() == "x"
