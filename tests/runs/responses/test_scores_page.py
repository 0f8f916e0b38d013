"""Scores given afterwards: asked for on a page and over the API, seen beside the run's own, cancelled and resumed."""

from __future__ import annotations

import pytest
from django.urls import reverse

from runs.models import Scoring
from runs.responses.scoring import tasks
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.runs.api_client import calls, paths
from tests.runs.launching.test_api_sweeps import post
from tests.runs.viewer_responses import model, said
from tests.workers.scorer.scripted_scorer import lengths, talking

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment, runs_dir):
    answers = [said(n, f"answer {n}", 0.5, 1.0, step=step) for n in range(4) for step in (0, 500)]
    return model(experiment, "es", answers)


@pytest.fixture
def scorer(run):
    with talking(lengths) as server:
        commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", server.url))
        yield server


def page(client, run, **query):
    return client.get(reverse("run-scores", args=[run.uid]), query)


def words(response):
    return " ".join(response.content.decode().split())


def test_a_button_has_answers_scored_and_their_scores_stand_beside_the_runs_own(ada_client, run, scorer):
    address = reverse("run-scores", args=[run.uid])
    assert address in ada_client.get(run.get_absolute_url()).content.decode()
    assert "Nobody has scored these answers afterwards yet" in words(page(ada_client, run))
    assert ada_client.post(address, {"scorer": "beaver", "step": "500"}).status_code == 302
    waiting = words(page(ada_client, run))
    assert "0 of 4" in waiting and 'hx-trigger="every 2s"' in waiting and "Cancel" in waiting
    tasks.score_answers()
    shown = words(page(ada_client, run))
    assert "4 of 4" in shown and "every 2s" not in shown
    (row,) = page(ada_client, run).context["page"]
    assert (row["step"], row["n"], row["reward"], row["cost"], row["safe"]) == (500, 4, 8.0, 10.0, 0.0)
    assert (row["own_reward"], row["own_cost"], row["own_safe"]) == (0.5, 1.0, 0.0)
    beside = f"{reverse('viewer')}?run={run.uid}@500&amp;scores=beaver"
    assert beside in shown
    assert "R 8" in words(ada_client.get(beside.replace("&amp;", "&")))


def test_it_is_cancelled_and_resumed_there(ada_client, run, scorer):
    made = Scoring.objects.create(run=run, scorer="beaver", asked_by=run.created_by, total=8)
    change = reverse("run-scoring-change", args=[run.uid, made.pk])
    for verb, state in (("cancel", "cancelled"), ("resume", "going"), ("cancel", "cancelled")):
        assert ada_client.post(change, {"do": verb}).status_code == 302
        made.refresh_from_db()
        assert made.state == state
    assert "Resume" in words(page(ada_client, run))


def test_what_is_asked_wrongly_is_said(ada_client, run, scorer):
    address = reverse("run-scores", args=[run.uid])
    for sent, why in (
        ({"scorer": "nobody"}, "The scorer must be one of beaver, not &#x27;nobody&#x27;."),
        ({"scorer": "beaver", "step": "last"}, "step must be a whole number, not &#x27;last&#x27;."),
        ({"scorer": "beaver", "step": "7"}, "step must be one of 0, 500, not 7."),
    ):
        assert why in words(ada_client.post(address, sent, follow=True))
    assert not Scoring.objects.exists()


def test_who_may_not_change_a_run_sees_scores_and_asks_for_none(bo_client, run, scorer):
    shown = words(page(bo_client, run))
    assert "Nobody has scored" in shown and "<select" not in shown
    assert bo_client.post(reverse("run-scores", args=[run.uid]), {"scorer": "beaver"}).status_code == 403
    made = Scoring.objects.create(run=run, scorer="beaver", asked_by=run.created_by)
    assert bo_client.post(reverse("run-scoring-change", args=[run.uid, made.pk])).status_code == 403


def test_where_no_scorer_is_alive_or_no_answer_is_there_it_is_said(ada_client, run, experiment):
    assert "No scorer that this site may call is alive" in words(page(ada_client, run))
    assert "There is no answer to score" in words(page(ada_client, model(experiment, "none", [])))


def test_it_takes_as_many_queries_with_many_scorings_as_with_one(
    ada_client, run, scorer, django_assert_max_num_queries
):
    def asked(n):
        Scoring.objects.create(run=run, scorer=f"s{n}", asked_by=run.created_by, state="done")

    asked(0)
    page(ada_client, run)
    with django_assert_max_num_queries(16) as few:
        page(ada_client, run)
    for n in range(1, 30):
        asked(n)
    with django_assert_max_num_queries(len(few)):
        assert page(ada_client, run).content.count(b'<th scope="row">') == 20


def test_the_api_has_answers_scored_cancels_resumes_and_reads_them(ada, bo, run, scorer):
    script, there = calls(ada), f"runs/{run.uid}/scorings"
    answer = post(script, there, {"scorer": "beaver", "step": 500})
    made = answer.json()
    assert answer.status_code == 202 and (made["state"], made["done"], made["total"]) == ("going", 0, 4)
    assert post(script, there, {"scorer": "beaver"}).status_code == 409
    assert "must be one of beaver" in paths(post(script, there, {"scorer": "x"}))["scorer"]
    assert post(calls(bo), there, {"scorer": "beaver"}).status_code == 403
    for verb, state in (("cancel", "cancelled"), ("resume", "going")):
        assert post(script, f"{there}/{made['id']}/{verb}").json()["state"] == state
    assert post(script, f"{there}/{made['id']}/resume").status_code == 409
    assert post(script, f"{there}/999/cancel").status_code == 404
    tasks.score_answers()
    listed = calls(bo, "read").get(f"/api/v1/{there}").json()
    assert [one["state"] for one in listed["items"]] == ["done"] and listed["scorers"] == []
    answers = calls(bo, "read").get(f"/api/v1/runs/{run.uid}/responses?step=500").json()["items"]
    assert {json_of(one["scores"]) for one in answers} == {json_of({"beaver": {"reward": 8.0, "cost": 10.0}})}


def json_of(scores):
    return tuple((name, *sorted(values.items())) for name, values in scores.items())
