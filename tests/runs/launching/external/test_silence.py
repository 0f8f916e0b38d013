"""A silent external run becomes lost, and runs again when it is heard; silence while esweb was down counts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import F
from django.utils import timezone

from esweb.celery import app
from runs.ingest import PushResult, as_columns, insert_push
from runs.launching.external.silence import OBSERVATION_KEY, Observation
from runs.launching.tasks import check_external_runs
from runs.models import ApiToken, Attempt, Experiment
from tests.runs.attempt_records import make_attempt, make_run
from tests.runs.launching.external.programs import Program, start
from workers.records import Line, Metric


@pytest.fixture(autouse=True)
def long_observation() -> Iterator[None]:
    """Let the checks have run for a day, until a moment ago."""
    observe(timedelta(days=1))
    yield
    cache.delete(OBSERVATION_KEY)


def observe(duration: timedelta, ago: timedelta = timedelta(seconds=1)) -> None:
    """Store that the checks ran for so long, the last of them so long ago."""
    last = timezone.now() - ago
    cache.set(OBSERVATION_KEY, Observation(since=(last - duration).timestamp(), last=last.timestamp()), None)


def fall_silent(seconds: float) -> None:
    """Move all signs of every program so far into the past."""
    silence = timedelta(seconds=seconds)
    Attempt.objects.update(
        heartbeat_seen_at=F("heartbeat_seen_at") - silence, created_at=F("created_at") - silence,
        started_at=F("started_at") - silence, ended_at=F("ended_at") - silence,
    )  # fmt: skip
    ApiToken.objects.update(last_used_at=F("last_used_at") - silence)


def lose(program: Program) -> None:
    fall_silent(301)
    check_external_runs()
    assert program.attempt.state == "lost"


def test_silent_attempt_becomes_lost_when_it_was_last_heard(ada: User) -> None:
    program = start(ada)
    fall_silent(290)
    check_external_runs()
    assert program.attempt.state == "running"
    fall_silent(20)
    check_external_runs()
    attempt = program.attempt
    assert (attempt.state, attempt.run.state, attempt.reason) == ("lost", "lost", "no heartbeat for 300 s")
    assert attempt.ended_at == max(attempt.heartbeat_seen_at, attempt.created_at)


def test_silence_is_the_one_that_the_program_chose(ada: User) -> None:
    patient, impatient = start(ada, lost_after_seconds=3600), start(ada, id="other", lost_after_seconds=10)
    fall_silent(301)
    check_external_runs()
    assert (patient.attempt.state, impatient.attempt.state) == ("running", "lost")
    assert impatient.attempt.reason == "no heartbeat for 10 s"


def test_push_counts_as_heartbeat(ada: User) -> None:
    program = start(ada)
    fall_silent(301)
    program.push(1)
    check_external_runs()
    assert program.attempt.state == "running"


@pytest.mark.django_db(transaction=True)
def test_fast_push_counts_as_heartbeat_and_revives(ada: User) -> None:
    program = start(ada)
    fall_silent(301)
    check_external_runs()
    assert program.attempt.state == "lost"
    columns = as_columns([Line(0, 1.7e9, Metric(1, {"loss": 0.5}))])
    assert columns is not None
    assert insert_push(program.created["token"], program.key, 0, columns) == PushResult(1, 1)
    check_external_runs()
    assert program.attempt.state == "running"


def test_last_use_of_the_token_may_be_a_minute_old(ada: User) -> None:
    program = start(ada)
    program.push(1)
    fall_silent(330)
    check_external_runs()
    assert program.attempt.state == "running"
    fall_silent(35)
    check_external_runs()
    assert program.attempt.state == "lost"


def test_push_revives_a_lost_attempt(ada: User) -> None:
    program = start(ada)
    program.push(1)
    fall_silent(361)
    check_external_runs()
    assert program.attempt.state == "lost"
    check_external_runs()
    assert program.attempt.state == "lost"
    program.push(2, seq=1)
    check_external_runs()
    attempt = program.attempt
    assert (attempt.state, attempt.run.state, attempt.ended_at, attempt.reason) == ("running", "running", None, "")


def test_repeated_start_revives_a_lost_attempt(ada: User) -> None:
    lose(start(ada))
    assert start(ada).created["state"] == "running"


def test_push_to_a_former_attempt_revives_nothing(ada: User) -> None:
    first = start(ada)
    lose(first)
    second = start(ada, start="s2")
    second.end()
    first.push(1)
    check_external_runs()
    assert (first.attempt.state, second.run.state) == ("lost", "succeeded")


def test_restarted_site_first_listens(ada: User) -> None:
    program = start(ada)
    fall_silent(36_000)
    observe(timedelta(days=1), ago=timedelta(hours=10))
    check_external_runs()
    assert program.attempt.state == "running"
    observe(timedelta(seconds=290))
    check_external_runs()
    assert program.attempt.state == "running"
    observe(timedelta(seconds=301))
    check_external_runs()
    assert program.attempt.state == "lost"


@pytest.mark.parametrize("ago", [timedelta(hours=-1), timedelta(minutes=5)], ids=["back", "forward"])
def test_clock_that_was_set_loses_nothing(ada: User, ago: timedelta) -> None:
    program = start(ada)
    fall_silent(36_000)
    observe(timedelta(days=1), ago=ago)
    check_external_runs()
    assert program.attempt.state == "running"


def test_lost_cache_loses_no_run(ada: User) -> None:
    program = start(ada)
    fall_silent(36_000)
    cache.delete(OBSERVATION_KEY)
    check_external_runs()
    check_external_runs()
    assert program.attempt.state == "running"


def test_launched_and_ended_attempts_are_left_alone(ada: User, experiment: Experiment) -> None:
    launched, ended = make_attempt(make_run(experiment)), start(ada)
    ended.end()
    state = launched.state
    fall_silent(36_000)
    ended.push(1)
    check_external_runs()
    launched.refresh_from_db()
    assert (launched.state, ended.attempt.state) == (state, "succeeded")


def test_check_is_scheduled() -> None:
    app.loader.import_default_modules()
    entry = settings.CELERY_BEAT_SCHEDULE["check-external-runs"]
    assert entry["task"] in app.tasks and entry["schedule"] == 15.0
