"""Resuming and cloning over the API, and its descriptions of attempts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.models import Attempt, Experiment, Run
from tests.runs.api_client import calls, paths
from tests.runs.checkpoint_files import save
from tests.runs.full_runs import make_run


@pytest.fixture
def api(ada):
    return calls(ada, "launch")


@pytest.fixture
def run(experiment, local, runs_dir):
    """Interrupted after it saved step 20."""
    run = make_run(experiment, seed=7, state="interrupted")
    save(run, 20)
    return run


def post(api, run, action, body=None):
    return api.post(f"/api/v1/runs/{run.uid}/{action}", body or {}, content_type="application/json")


def test_a_run_is_resumed_and_its_attempts_tell_from_where(api, run):
    answer = post(api, run, "resume")
    assert answer.status_code == 202
    body = answer.json()
    first, second = body["attempts"]
    assert body["state"] == "created"
    assert (first["state"], first["origin"], first["resumed_step"]) == ("interrupted", "launch", None)
    assert (second["n"], second["origin"], second["resumed_attempt"], second["resumed_step"]) == (2, "resume", 1, 20)
    assert api.get(f"/api/v1/runs/{run.uid}").json()["attempts"] == body["attempts"]


def test_called_twice_it_makes_one_attempt(api, run):
    post(api, run, "resume")
    again = post(api, run, "resume")
    assert again.status_code == 409
    assert "has not ended (created)" in again.json()["detail"]
    assert Attempt.objects.count() == 2


def test_finished_run_is_refused_with_a_suggestion(api, experiment, local):
    answer = post(api, make_run(experiment, state="succeeded"), "resume")
    assert answer.status_code == 409
    assert "clone it" in answer.json()["detail"]


def test_planned_restart_is_reported_and_cancelled(api, run):
    run.attempts.update(restart_at=timezone.now() + timedelta(minutes=1))
    assert api.get(f"/api/v1/runs/{run.uid}").json()["attempts"][0]["restart_at"] is not None
    assert post(api, run, "cancel").status_code == 202
    assert api.get(f"/api/v1/runs/{run.uid}").json()["attempts"][0]["restart_at"] is None
    assert post(api, run, "cancel").status_code == 409


def test_a_clone_is_a_new_run_of_the_same_config(api, run):
    answer = post(api, run, "clone")
    assert answer.status_code == 201
    body = answer.json()
    assert (body["name"], body["seed"], body["preset"]) == ("es-tiny seed 7 (copy)", 7, "es-tiny")
    assert body["config"] == run.config and body["uid"] != run.uid
    assert api.post(f"/api/v1/runs/{run.uid}/clone", content_type="application/json").status_code == 201


def test_changed_clone_without_a_name_is_named_by_its_settings(api, run):
    body = post(api, run, "clone", {"seed": 8, "config": {"es": {"sigma": 0.5}}}).json()
    assert body["name"] == "es-tiny σ=0.5 seed 8"


def test_a_clone_may_differ(api, ada, run):
    other = Experiment.objects.create(name="Other", owner=ada)
    changes = {"seed": 8, "name": "again", "config": {"es": {"sigma": 0.5}}, "experiment": other.pk}
    body = post(api, run, "clone", changes).json()
    assert (body["name"], body["seed"], body["experiment"]) == ("again", 8, other.pk)
    assert body["config"]["es"] == run.config["es"] | {"sigma": 0.5}
    assert body["config"]["seed"] == 8


def test_a_clone_that_does_not_fit_names_every_problem(api, run):
    run.config["es"]["old_knob"] = 1
    run.save()
    answer = post(api, run, "clone", {"seed": -1, "config": {"es": {"sigma": -1}}})
    assert answer.status_code == 422
    assert paths(answer).keys() == {"seed", "es.sigma", "es.old_knob"}
    assert Run.objects.count() == 1
    assert post(api, run, "clone", {"sed": 1}).status_code == 422


def test_foreign_run_is_cloned_into_an_own_experiment(bo, run):
    own = Experiment.objects.create(name="Bo's", owner=bo)
    assert post(calls(bo), run, "clone").status_code == 403
    assert post(calls(bo), run, "clone", {"experiment": own.pk}).json()["created_by"] == "bo"
