"""The attempts of a run on its page: none, one or many, each with how it went and why it ended."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from runs.models import Attempt, AttemptEvent
from tests.runs.attempt_records import answer, make_attempt
from tests.runs.full_runs import end, evaluation, make_run, record

pytestmark = pytest.mark.django_db
GREEDY = "origin=evaluator; estimator=mean; decoding=greedy"
NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def run(experiment, runs_dir):
    return make_run(experiment)


def past(client, run):
    return " ".join(client.get(reverse("run-past", args=[run.uid]), HTTP_HX_REQUEST="true").content.decode().split())


def test_run_without_attempts_is_reported(ada_client, run):
    run.attempts.all().delete()
    assert "Not submitted yet." in past(ada_client, run)
    assert ada_client.get(run.get_absolute_url()).status_code == 200


def test_one_attempt_is_a_row_with_its_events(ada_client, run):
    attempt = run.newest_attempt()
    Attempt.objects.update(
        state="failed", reason="ended with exit code 1: no memory", exit_code=1, started_at=NOON,
        ended_at=NOON + timedelta(seconds=75),
    )  # fmt: skip
    AttemptEvent.objects.create(attempt=attempt, level="warning", why="the heart was late")
    text = past(ada_client, run)
    for text_part in ("1 min 15 s", "code 1", "2026-01-02 12:00", "ended with exit code 1: no memory"):
        assert text_part in text
    assert "1 event<" in text and "the heart was late" in text
    assert reverse("attempt-log-file", args=[run.uid, 1]) in text


def test_attempts_are_listed_newest_first_with_their_origin(ada_client, run):
    end(run, "lost")
    make_attempt(run, 2)
    Attempt.objects.filter(n=2).update(resumed_attempt=1, resumed_step=20, origin="restart", exit_signal=9)
    end(run, "failed")
    make_attempt(run, 3)
    Attempt.objects.filter(n=3).update(resumed_attempt=1, resumed_step=20, origin="resume")
    text = past(ada_client, run)
    assert text.count("<tbody") == 3
    third, second, first = text.split("<tbody")[1:]
    assert "step 20 of attempt 1" in third and "not yet" in third and "automatic" not in third
    assert "step 20 <span" in second and "automatic" in second and "signal 9" in second
    assert "–" in first and "lost" in first
    assert [part.count("<details open") for part in (third, second, first)] == [1, 0, 0]


def test_each_attempt_has_its_log(ada_client, bo_client, run):
    end(run, "lost")
    make_attempt(run, 2)
    for attempt in run.attempts.all():
        attempt.directory.mkdir(parents=True)
        (attempt.directory / "log.txt").write_text(f"I am {attempt.n}")
    for n in (1, 2):
        answered = bo_client.get(reverse("attempt-log-file", args=[run.uid, n]))
        assert b"".join(answered.streaming_content) == f"I am {n}".encode()
        assert answered["Content-Disposition"] == f'attachment; filename="{run.uid}-a{n}.log"'
    assert ada_client.get(reverse("attempt-log-file", args=[run.uid, 3])).status_code == 404


def test_log_of_a_private_run_returns_404(cy_client, private_experiment, runs_dir):
    hidden = make_run(private_experiment)
    assert cy_client.get(reverse("attempt-log-file", args=[hidden.uid, 1])).status_code == 404


def test_overwritten_points_are_grey_and_later_answers_valid(ada_client, run):
    record(run, [evaluation(0, -40), evaluation(10, -30), answer(10, "of the first attempt"), evaluation(20, -20)])
    end(run)
    make_attempt(run, 2)
    record(run, [evaluation(10, -29), answer(10, "of the second attempt")])
    curves = ada_client.get(reverse("run-curves", args=[run.uid])).content.decode()
    assert "2 points were overwritten by a resume (grey)." in curves
    text = ada_client.get(reverse("run-responses", args=[run.uid])).content.decode()
    assert "of the second attempt" in text and "of the first attempt" not in text
    rows = ada_client.get(reverse("run-chart", args=[run.uid]), {"name": "reward", "as": "csv"}).content.decode()
    assert [line.split(",")[1:] for line in rows.splitlines() if line.startswith("reward/mean")] == [
        [*point, GREEDY]
        for point in (["0.0", "-40.0", ""], ["10.0", "-30.0", "yes"], ["20.0", "-20.0", "yes"], ["10.0", "-29.0", ""])
    ]  # fmt: skip
