"""Later scores: requested on a page and over the API, displayed next to the run's own, cancelled and resumed."""

from __future__ import annotations

import pytest
from django.urls import reverse

from runs.models import Scoring
from runs.responses.scoring import tasks
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.runs.api_client import calls, paths
from tests.runs.launching.test_api_sweeps import post
from tests.runs.viewer_responses import make_response, model
from tests.workers.scorer.scripted_scorer import lengths, scripted_scorer

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment, runs_dir):
    answers = [make_response(n, f"answer {n}", 0.5, 1.0, step=step) for n in range(4) for step in (0, 500)]
    return model(experiment, "es", answers)


@pytest.fixture
def scorer(run):
    with scripted_scorer(lengths) as server:
        commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", server.url))
        yield server


def page(client, run, **query):
    return client.get(reverse("run-scores", args=[run.uid]), query)


def words(response):
    return " ".join(response.content.decode().split())


def test_scoring_button_starts_a_scoring_with_results(ada_client, run, scorer):
    address = reverse("run-scores", args=[run.uid])
    assert address in ada_client.get(reverse("run-responses", args=[run.uid])).content.decode()
    assert "No later scores yet" in words(page(ada_client, run))
    assert ada_client.post(address, {"scorer": "beaver", "step": "500"}).status_code == 302
    waiting = words(page(ada_client, run))
    assert "0 of 4" in waiting and 'hx-trigger="every 2s"' in waiting and "Cancel" in waiting
    tasks.score_answers()
    text = words(page(ada_client, run))
    assert "4 of 4" in text and "every 2s" not in text
    (row,) = page(ada_client, run).context["page"]
    assert (row["step"], row["n"], row["reward"], row["cost"], row["safe"]) == (500, 4, 8.0, 10.0, 0.0)
    assert (row["own_reward"], row["own_cost"], row["own_safe"]) == (0.5, 1.0, 0.0)
    viewer_address = f"{reverse('viewer')}?run={run.uid}@500&amp;scores=beaver"
    assert viewer_address in text
    assert "R 8" in words(ada_client.get(viewer_address.replace("&amp;", "&")))


def test_scoring_is_cancelled_and_resumed_on_its_page(ada_client, run, scorer):
    scoring = Scoring.objects.create(run=run, scorer="beaver", asked_by=run.created_by, total=8)
    change = reverse("run-scoring-change", args=[run.uid, scoring.pk])
    for verb, state in (("cancel", "cancelled"), ("resume", "going"), ("cancel", "cancelled")):
        assert ada_client.post(change, {"do": verb}).status_code == 302
        scoring.refresh_from_db()
        assert scoring.state == state
    assert "Resume" in words(page(ada_client, run))


def test_invalid_scoring_request_is_reported(ada_client, run, scorer):
    address = reverse("run-scores", args=[run.uid])
    for sent, message in (
        ({"scorer": "nobody"}, "The scorer must be one of beaver, not &#x27;nobody&#x27;."),
        ({"scorer": "beaver", "step": "last"}, "step must be a whole number, not &#x27;last&#x27;."),
        ({"scorer": "beaver", "step": "7"}, "step must be one of 0, 500, not 7."),
    ):
        assert message in words(ada_client.post(address, sent, follow=True))
    assert not Scoring.objects.exists()


def test_user_without_rights_cannot_request_scores(bo_client, run, scorer):
    text = words(page(bo_client, run))
    assert "No later scores yet" in text and "<select" not in text
    assert bo_client.post(reverse("run-scores", args=[run.uid]), {"scorer": "beaver"}).status_code == 403
    scoring = Scoring.objects.create(run=run, scorer="beaver", asked_by=run.created_by)
    assert bo_client.post(reverse("run-scoring-change", args=[run.uid, scoring.pk])).status_code == 403


def test_missing_scorer_or_answers_are_reported(ada_client, run, experiment):
    assert "No scorer that this site may call is available" in words(page(ada_client, run))
    assert "No responses to score" in words(page(ada_client, model(experiment, "none", [])))


def test_number_of_queries_is_independent_of_the_number_of_scorings(
    ada_client, run, scorer, django_assert_max_num_queries
):
    def create_scoring(n):
        Scoring.objects.create(run=run, scorer=f"s{n}", asked_by=run.created_by, state="done")

    create_scoring(0)
    page(ada_client, run)
    with django_assert_max_num_queries(16) as few:
        page(ada_client, run)
    for n in range(1, 30):
        create_scoring(n)
    with django_assert_max_num_queries(len(few)):
        assert page(ada_client, run).content.count(b'<th scope="row">') == 20


def test_the_api_has_answers_scored_cancels_resumes_and_reads_them(ada, bo, run, scorer):
    script, there = calls(ada), f"runs/{run.uid}/scorings"
    answer = post(script, there, {"scorer": "beaver", "step": 500})
    scoring = answer.json()
    assert answer.status_code == 202 and (scoring["state"], scoring["done"], scoring["total"]) == ("going", 0, 4)
    assert post(script, there, {"scorer": "beaver"}).status_code == 409
    assert "must be one of beaver" in paths(post(script, there, {"scorer": "x"}))["scorer"]
    assert post(calls(bo), there, {"scorer": "beaver"}).status_code == 403
    for verb, state in (("cancel", "cancelled"), ("resume", "going")):
        assert post(script, f"{there}/{scoring['id']}/{verb}").json()["state"] == state
    assert post(script, f"{there}/{scoring['id']}/resume").status_code == 409
    assert post(script, f"{there}/999/cancel").status_code == 404
    tasks.score_answers()
    listed = calls(bo, "read").get(f"/api/v1/{there}").json()
    assert [item["state"] for item in listed["items"]] == ["done"] and listed["scorers"] == []
    answers = calls(bo, "read").get(f"/api/v1/runs/{run.uid}/responses?step=500").json()["items"]
    assert {json_of(response["scores"]) for response in answers} == {json_of({"beaver": {"reward": 8.0, "cost": 10.0}})}


def json_of(scores):
    return tuple((name, *sorted(values.items())) for name, values in scores.items())
