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
from runs.models import Response, Score, Scoring
from runs.responses import scoring
from runs.responses.scoring import queries, tasks, worker
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.runs.viewer_responses import model, said
from tests.workers.scorer.scripted_scorer import Said as Answer
from tests.workers.scorer.scripted_scorer import lengths, talking

ANSWERS = 5
REFUSED = Answer('{"detail": "Not your token"}', 401)
BROKEN = Answer('{"detail": "out of memory"}', 500)


@pytest.fixture
def run(experiment, runs_dir):
    return model(experiment, "es", [said(n, f"answer {n}", 0.5, 1.0) for n in range(ANSWERS)])


def begun(run, url, **what):
    commands.register(
        run.created_by, Registration("scorer", "beaver", "0123456789", url, token_file=what.pop("token_file", ""))
    )
    return scoring.begin(run, run.created_by, "beaver", **what)


def work(made):
    tasks.score_answers()
    made.refresh_from_db()
    return made.state, made.done, made.total


def test_a_job_scores_all_that_is_not_scored_and_says_so(run):
    with talking(lengths) as server:
        made = begun(run, server.url, step=500, split="eval")
        assert (made.state, made.done, made.total) == ("going", 0, ANSWERS)
        assert work(made) == ("done", ANSWERS, ANSWERS) and made.ended_at is not None
        assert work(made) == ("done", ANSWERS, ANSWERS)
    assert len(server.asked) == 1
    assert Score.objects.filter(scorer="beaver", key="reward", value=8.0).count() == ANSWERS
    with pytest.raises(scoring.CannotScore, match="beaver has scored all 5 answers of this"):
        scoring.begin(run, run.created_by, "beaver")


def test_what_breaks_off_waits_says_why_and_goes_on_where_it_stopped(run, monkeypatch):
    monkeypatch.setattr(worker, "PIECE", 2)
    with talking(lengths, BROKEN, lengths) as server:
        made = begun(run, server.url)
        assert work(made) == ("going", 2, ANSWERS) and "gave no scores: 500" in made.reason
        assert work(made) == ("done", ANSWERS, ANSWERS) and made.reason == ""
    assert [len(asked.body["responses"]) for asked in server.asked] == [2, 2, 2, 1]


def test_a_scoring_that_nobody_expected_to_fail_says_so_and_holds_up_no_other(run, experiment, monkeypatch):
    other = model(experiment, "grpo", [said(n, f"reply {n}", 0.5, 1.0) for n in range(ANSWERS)])
    keep = response_rows.keep_scores

    def break_on_the_first(name, given):
        if Response.objects.get(pk=given[0][0]).run == run:
            raise RuntimeError("nobody expected this")
        return keep(name, given)

    monkeypatch.setattr(queries, "keep_scores", break_on_the_first)
    with talking(lengths) as server:
        made = begun(run, server.url)
        going = scoring.begin(other, other.created_by, "beaver")
        with pytest.raises(ExceptionGroup, match="scorings that could not go on"):
            tasks.score_answers()
    made.refresh_from_db()
    going.refresh_from_db()
    assert (made.state, made.done) == ("going", 0) and "the server's log says why" in made.reason
    assert (going.state, going.done) == ("done", ANSWERS)


def test_a_scorer_that_gives_too_few_scores_gives_none(run):
    with talking(Answer(json.dumps({"rewards": [1.0], "costs": [1.0]}))) as server:
        made = begun(run, server.url)
        assert work(made) == ("going", 0, ANSWERS) and "rewards must be a list of 5 numbers" in made.reason
    assert not Score.objects.exists()


def test_after_ten_minutes_without_a_score_it_has_failed_and_may_be_resumed(run):
    with talking(BROKEN) as server:
        made = begun(run, server.url)
        Scoring.objects.update(moved_at=timezone.now() - timedelta(minutes=11))
        assert work(made)[0] == "failed" and made.reason.endswith("Nothing came for 10 minutes.")
    with talking(lengths) as server:
        commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", server.url))
        assert scoring.resume(made).state == "going"
        assert work(made) == ("done", ANSWERS, ANSWERS)
    with pytest.raises(scoring.CannotScore, match="Only a scoring that failed or was cancelled"):
        scoring.resume(made)


def test_a_refusal_ends_it_at_once_with_what_the_scorer_said(run):
    with talking(REFUSED) as server:
        made = begun(run, server.url)
        assert work(made)[0] == "failed" and "401" in made.reason and "Not your token" in made.reason
    assert len(server.asked) == 1


def test_cancelled_it_asks_no_more_and_keeps_what_it_has(run, monkeypatch):
    monkeypatch.setattr(worker, "PIECE", 2)
    with talking(lambda asked: lengths(asked)) as server:
        made = begun(run, server.url)
        moved = worker._going

        def cancelled(of):
            scoring.cancel(of)
            return moved(of)

        monkeypatch.setattr(worker, "_going", cancelled)
        assert work(made) == ("cancelled", 2, ANSWERS)
    assert len(server.asked) == 1 and Score.objects.filter(key="cost").count() == 2


def test_of_two_jobs_one_is_at_it(run):
    with talking(lengths) as server, closing(connection.copy()) as another:
        made = begun(run, server.url)
        with another.cursor() as elsewhere:
            elsewhere.execute("SELECT pg_advisory_lock(%s::int, %s::int)", [worker.HELD, made.pk])
            assert work(made) == ("going", 0, ANSWERS) and server.asked == []
            elsewhere.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [worker.HELD, made.pk])
        assert work(made)[0] == "done"


def test_one_scorer_scores_a_run_once_at_a_time(run):
    with talking(lengths) as server:
        begun(run, server.url)
        with pytest.raises(scoring.CannotScore, match="beaver is scoring this run already"):
            scoring.begin(run, run.created_by, "beaver", step=500)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ({"scorer": "x"}, "The scorer must be one of beaver, not 'x'"),
        ({"step": 7}, "step must be one of 500, not 7"),
        ({"split": "train"}, "split must be one of eval, not 'train'"),
    ],
)
def test_what_cannot_be_scored_is_said_with_what_can(run, what, why):
    commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", "http://127.0.0.1:9"))
    with pytest.raises(scoring.CannotScore, match=why):
        scoring.begin(run, run.created_by, **{"scorer": "beaver", **what})


def test_site_reads_no_token_file_and_sends_a_secrets_token_instead(run, tmp_path, settings):
    ada, secret = run.created_by, tmp_path / "secret"
    secret.write_text("of-the-site\n")
    commands.register(ada, Registration("scorer", "inside", "0123456789", "http://169.254.169.254/latest"))
    commands.register(ada, Registration("scorer", "reader", "0123456789", "http://127.0.0.1:9", token_file=str(secret)))
    assert scoring.choices(ada, run) == []
    settings.SCORER_HOSTS = ["169.254.169.254"]
    assert scoring.choices(ada, run) == ["inside"]
    with talking(lengths) as server:
        made = Scoring.objects.create(run=run, scorer="reader", asked_by=ada)
        commands.register(ada, Registration("scorer", "reader", "0123456789", server.url, token_file=str(secret)))
        assert work(made)[0] == "failed" and "is none of the hosts that scorers are called at" in made.reason
        User.objects.filter(pk=ada.pk).update(is_superuser=True)
        made = Scoring.objects.get(pk=made.pk)
        assert work(scoring.resume(made))[0] == "failed" and "this site reads none from a file" in made.reason
        access.save_secret(User.objects.get(pk=ada.pk), "reader", "of-the-secret", address=server.url)
        assert work(scoring.resume(Scoring.objects.get(pk=made.pk)))[0] == "done"
    assert {request.headers["Authorization"] for request in server.asked} == {"Bearer of-the-secret"}


def test_the_tiny_models_are_offered_for_generated_requests_alone(run):
    ada = run.created_by
    assert scoring.choices(ada, run) == []
    run.config = {**run.config, "task": {"name": "safety", "options": {}}}
    assert scoring.choices(ada, run) == ["embedded"]
    run.save()
    assert work(scoring.begin(run, ada, "embedded"))[0] == "done"
    run.config["task"]["options"]["train_file"] = "/data/train.jsonl"
    assert scoring.choices(ada, run) == []
