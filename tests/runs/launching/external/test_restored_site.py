"""A training that goes on after the site was restored from a backup runs there again, and ends as it reports."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from esweb.backup.restore import end_open_jobs
from runs.launching.external import check_silence
from runs.models import ApiToken
from tests.runs.launching.external.programs import Program, create, start


@pytest.fixture
def interrupted(ada: User) -> Program:
    """Return a program whose attempt the restore of its site ended."""
    program = start(ada)
    end_open_jobs(timezone.now() - timedelta(hours=1))
    assert (program.attempt.state, program.run.state) == ("interrupted", "interrupted")
    return program


def test_end_of_a_training_counts_on_the_restored_site(interrupted: Program) -> None:
    assert interrupted.end(exit_code=0, summary={"best": 1}).json() == {"state": "succeeded"}
    assert (interrupted.run.state, interrupted.run.external.summary) == ("succeeded", {"best": 1})


def test_training_that_pushes_runs_again_on_the_restored_site(interrupted: Program) -> None:
    check_silence()
    assert interrupted.attempt.state == "interrupted"
    interrupted.push(0, 1)
    check_silence()
    assert (interrupted.attempt.state, interrupted.run.state) == ("running", "running")


def test_training_that_does_not_report_here_stays_interrupted(interrupted: Program) -> None:
    # The backup has the last use of its token, which may be a moment after the time of the backup.
    ApiToken.objects.filter(run=interrupted.run).update(last_used_at=timezone.now() - timedelta(minutes=59))
    check_silence()
    check_silence()
    assert interrupted.attempt.state == "interrupted"


def test_training_runs_again_on_the_restored_site_and_ends_there(ada: User, interrupted: Program) -> None:
    again = start(ada)
    assert again.key == interrupted.key
    attempt = again.attempt
    assert (attempt.state, attempt.ended_at, attempt.reason, again.run.state) == ("running", None, "", "running")
    assert again.push(0, 1).json()["next_seq"] == 2
    assert again.end(state="failed", reason="no memory").json() == {"state": "failed"}
    assert (again.attempt.reason, again.run.state) == ("no memory", "failed")
    reasons = list(attempt.events.order_by("pk").values_list("why", flat=True))
    assert reasons[-2:] == ["the program was heard again", "no memory"]


def test_older_start_does_not_run_beside_a_newer_one(ada: User, interrupted: Program) -> None:
    newer = start(ada, start="s2")
    late = create(ada)
    assert (late.status_code, late.json()["attempt"]) == (201, interrupted.key)
    assert (interrupted.attempt.state, newer.run.state) == ("interrupted", "running")
