"""Idempotency-Key: a repeated call creates nothing twice."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from runs.http import idempotency
from runs.models import ApiToken, Experiment, KeptAnswer, Run
from tests.runs.api_client import calls, paths


@pytest.fixture
def api(ada):
    return calls(ada, "admin")


def make(api, key, address="/api/v1/experiments", **body):
    return api.post(address, body, content_type="application/json", headers={"idempotency-key": key})


def test_the_same_key_and_request_is_answered_the_same_and_makes_one(api):
    first, second = make(api, "a", name="Concise"), make(api, "a", name="Concise")
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert (first.has_header("Idempotency-Replayed"), second["Idempotency-Replayed"]) == (False, "true")
    assert Experiment.objects.count() == 1


def test_a_key_changes_nothing_about_the_answer(api):
    plain = api.post("/api/v1/experiments", {"name": "Concise"}, content_type="application/json")
    keyed = make(api, "a", name="Concise")
    differ = {"id", "url", "created_at"}
    assert {k: v for k, v in plain.json().items() if k not in differ} == {
        k: v for k, v in keyed.json().items() if k not in differ
    }
    assert plain["Content-Type"] == keyed["Content-Type"] == make(api, "a", name="Concise")["Content-Type"]


def test_key_is_bound_to_one_request(api):
    make(api, "a", name="Concise")
    for refused in (make(api, "a", name="Other"), make(api, "a", "/api/v1/views", name="Concise", page="experiments")):
        assert refused.status_code == 422
        assert "another request" in paths(refused)["Idempotency-Key"]
    assert Experiment.objects.count() == 1


def test_keys_of_two_users_are_independent(api, bo):
    make(api, "a", name="Concise")
    assert make(calls(bo), "a", name="Other").status_code == 201


def test_refused_call_is_evaluated_again(api):
    assert make(api, "a", name="").status_code == 422
    refused = make(api, "b", "/api/v1/runs", experiment_name="Concise", preset="es-huge")
    assert refused.status_code == 422
    assert not KeptAnswer.objects.exists()
    assert make(api, "b", name="Concise").status_code == 201


def test_a_run_is_launched_once(api):
    for _ in range(3):
        assert make(api, "a", "/api/v1/runs", experiment_name="Concise", preset="es-micro").status_code == 201
    assert Run.objects.get().attempts.count() == 1


def test_after_a_day_a_key_is_forgotten(api):
    make(api, "a", name="Concise")
    KeptAnswer.objects.update(made_at=timezone.now() - idempotency.RETENTION - timedelta(seconds=1))
    assert make(api, "a", name="Other").status_code == 201
    assert KeptAnswer.objects.count() == 1


def test_token_text_is_not_stored_and_not_repeated(api):
    before = ApiToken.objects.count()
    first, second = (make(api, "a", "/api/v1/tokens", scope="read") for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 409)
    assert "shown only once" in second.json()["detail"]
    assert ApiToken.objects.count() == before + 1
    assert first.json()["text"] not in KeptAnswer.objects.get().body


@pytest.mark.parametrize("key", ["", "two words", "ä", "x" * 201])
def test_a_key_that_cannot_be_used_is_refused_in_words(api, key):
    refused = make(api, key, name="Concise")
    assert "1 to 200 visible ASCII characters" in paths(refused)["Idempotency-Key"]


@pytest.mark.django_db(transaction=True)
def test_concurrent_calls_with_one_key_create_once(api):
    def ask(_):
        try:
            return make(api, "a", name="Concise")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as many:
        answers = list(many.map(ask, range(8)))
    assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert Experiment.objects.count() == 1
