"""A scoring is gone on with by jobs: piece by piece, once though twice called, past scorers that fail, to its end."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from runs import access
from runs.ingest import response_rows
from runs.models import Response, Score, Scoring, Service
from runs.responses import scoring
from runs.responses.scoring import queries, tasks, worker
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.cases import each_case
from tests.runs.stored_services import store_service
from tests.runs.viewer_responses import make_response, model
from tests.workers.scorer.scripted_scorer import ScriptedReply as Answer
from tests.workers.scorer.scripted_scorer import lengths, scripted_scorer

ANSWERS = 5
REFUSED = Answer('{"detail": "Not your token"}', 401)
BROKEN = Answer('{"detail": "out of memory"}', 500)


@pytest.fixture
def run(experiment, runs_dir):
    return model(experiment, "es", [make_response(n, f"answer {n}", 0.5, 1.0) for n in range(ANSWERS)])


def begin_scoring(run, url, **options):
    commands.register(
        run.created_by, Registration("scorer", "beaver", "0123456789", url, token_file=options.pop("token_file", ""))
    )
    return scoring.begin(run, run.created_by, "beaver", **options)


def work(started):
    tasks.score_answers()
    started.refresh_from_db()
    return started.state, started.done, started.total


def test_job_scores_all_unscored_answers(run):
    with scripted_scorer(lengths) as server:
        started = begin_scoring(run, server.url, step=500, split="eval")
        assert (started.state, started.done, started.total) == ("going", 0, ANSWERS)
        assert work(started) == ("done", ANSWERS, ANSWERS) and started.ended_at is not None
        assert work(started) == ("done", ANSWERS, ANSWERS)
    assert len(server.requests) == 1
    assert Score.objects.filter(scorer="beaver", key="reward", value=8.0).count() == ANSWERS
    with pytest.raises(scoring.CannotScore, match="beaver has already scored all 5 responses"):
        scoring.begin(run, run.created_by, "beaver")


def test_interrupted_scoring_has_a_reason_and_resumes(run, monkeypatch):
    monkeypatch.setattr(worker, "REQUEST_SIZE", 2)
    with scripted_scorer(lengths, BROKEN, lengths) as server:
        started = begin_scoring(run, server.url)
        assert work(started) == ("going", 2, ANSWERS) and "gave no scores: 500" in started.reason
        assert work(started) == ("done", ANSWERS, ANSWERS) and started.reason == ""
    assert [len(request.body["responses"]) for request in server.requests] == [2, 2, 2, 1]


def test_unexpected_error_does_not_block_other_scorings(run, experiment, monkeypatch):
    other = model(experiment, "grpo", [make_response(n, f"reply {n}", 0.5, 1.0) for n in range(ANSWERS)])
    keep = response_rows.save_scores

    def break_on_the_first(name, scores):
        if Response.objects.get(pk=scores[0][0]).run == run:
            raise RuntimeError("nobody expected this")
        return keep(name, scores)

    monkeypatch.setattr(queries, "save_scores", break_on_the_first)
    with scripted_scorer(lengths) as server:
        started = begin_scoring(run, server.url)
        going = scoring.begin(other, other.created_by, "beaver")
        with pytest.raises(ExceptionGroup, match="scorings that could not continue"):
            tasks.score_answers()
    started.refresh_from_db()
    going.refresh_from_db()
    assert (started.state, started.done) == ("going", 0) and "See the server's log." in started.reason
    assert (going.state, going.done) == ("done", ANSWERS)


def test_a_scorer_that_gives_too_few_scores_gives_none(run):
    with scripted_scorer(Answer(json.dumps({"rewards": [1.0], "costs": [1.0]}))) as server:
        started = begin_scoring(run, server.url)
        assert work(started) == ("going", 0, ANSWERS) and "rewards must be a list of 5 numbers" in started.reason
    assert not Score.objects.exists()


def test_scoring_fails_after_ten_minutes_without_scores(run):
    with scripted_scorer(BROKEN) as server:
        started = begin_scoring(run, server.url)
        Scoring.objects.update(moved_at=timezone.now() - timedelta(minutes=11))
        assert work(started)[0] == "failed" and started.reason.endswith("There was no progress for 10 minutes.")
    with scripted_scorer(lengths) as server:
        commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", server.url))
        assert scoring.resume(started).state == "going"
        assert work(started) == ("done", ANSWERS, ANSWERS)
    with pytest.raises(scoring.CannotScore, match="Only a failed or cancelled scoring"):
        scoring.resume(started)


def test_refusal_fails_the_scoring_with_its_status(run):
    with scripted_scorer(REFUSED) as server:
        started = begin_scoring(run, server.url)
        assert work(started)[0] == "failed" and started.reason.endswith("401 Unauthorized")
    assert len(server.requests) == 1


def test_cancelled_it_asks_no_more_and_keeps_what_it_has(run, monkeypatch):
    monkeypatch.setattr(worker, "REQUEST_SIZE", 2)
    with scripted_scorer(lambda request: lengths(request)) as server:
        started = begin_scoring(run, server.url)
        moved = worker._active_rows

        def cancelled(row):
            scoring.cancel(row)
            return moved(row)

        monkeypatch.setattr(worker, "_active_rows", cancelled)
        assert work(started) == ("cancelled", 2, ANSWERS)
    assert len(server.requests) == 1 and Score.objects.filter(key="cost").count() == 2


def test_concurrent_jobs_score_once(run):
    with scripted_scorer(lengths) as server, closing(connection.copy()) as another:
        started = begin_scoring(run, server.url)
        with another.cursor() as elsewhere:
            elsewhere.execute("SELECT pg_advisory_lock(%s::int, %s::int)", [worker.LOCK_CLASS, started.pk])
            assert work(started) == ("going", 0, ANSWERS) and server.requests == []
            elsewhere.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [worker.LOCK_CLASS, started.pk])
        assert work(started)[0] == "done"


def test_one_scorer_scores_a_run_once_at_a_time(run):
    with scripted_scorer(lengths) as server:
        begin_scoring(run, server.url)
        with pytest.raises(scoring.CannotScore, match="beaver is already scoring this run"):
            scoring.begin(run, run.created_by, "beaver", step=500)


@each_case(
    ("options", "message"),
    [
        ({"scorer": "x"}, "The scorer must be one of beaver, not 'x'"),
        ({"step": 7}, "step must be one of 500, not 7"),
        ({"split": "train"}, "split must be one of eval, not 'train'"),
    ],
)
def test_invalid_scoring_is_reported_with_the_valid_choices(run, options, message):
    commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", "http://127.0.0.1:9"))
    with pytest.raises(scoring.CannotScore, match=message):
        scoring.begin(run, run.created_by, **{"scorer": "beaver", **options})


def test_site_reads_no_token_file_and_sends_a_secrets_token_instead(run, tmp_path, settings):
    ada, secret = run.created_by, tmp_path / "secret"
    secret.write_text("of-the-site\n")
    store_service(ada, "http://169.254.169.254/latest", name="inside")
    commands.register(ada, Registration("scorer", "reader", "0123456789", "http://127.0.0.1:9", token_file=str(secret)))
    assert scoring.choices(ada, run) == []
    settings.SCORER_HOSTS = ["169.254.169.254"]
    assert scoring.choices(ada, run) == ["inside"]
    with scripted_scorer(lengths) as server:
        started = Scoring.objects.create(run=run, scorer="reader", asked_by=ada)
        Service.objects.filter(name="reader").update(address=server.url)
        assert work(started)[0] == "failed" and "is not an allowed scorer host" in started.reason
        User.objects.filter(pk=ada.pk).update(is_superuser=True)
        started = Scoring.objects.get(pk=started.pk)
        assert work(scoring.resume(started))[0] == "failed" and "this site reads none from a file" in started.reason
        access.save_secret(User.objects.get(pk=ada.pk), "reader", "of-the-secret", address=server.url)
        assert work(scoring.resume(Scoring.objects.get(pk=started.pk)))[0] == "done"
    assert {request.headers["Authorization"] for request in server.requests} == {"Bearer of-the-secret"}


def test_the_tiny_models_are_offered_for_generated_requests_alone(run):
    ada = run.created_by
    assert scoring.choices(ada, run) == []
    run.config = {**run.config, "task": {"name": "safety", "options": {}}}
    assert scoring.choices(ada, run) == ["embedded"]
    run.save()
    assert work(scoring.begin(run, ada, "embedded"))[0] == "done"
    run.config["task"]["options"]["train_file"] = "/data/train.jsonl"
    assert scoring.choices(ada, run) == []
