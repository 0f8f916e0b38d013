"""Launching and cancelling over the API; all problems of a request are reported together, with the valid choices."""

import pytest

from runs.models import Attempt, Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import make_attempt, make_run
from workers.config import RunConfig, preset


@pytest.fixture
def api(ada):
    return calls(ada, "launch")


def launch(api, **body):
    return api.post("/api/v1/runs", body, content_type="application/json")


def test_a_preset_is_launched_in_an_experiment_by_name(api, ada):
    answer = launch(api, experiment_name="Concise", preset="es-micro", seed=7, name="first")
    assert answer.status_code == 201
    run = Run.objects.get()
    assert answer.json() == answer.json() | {
        "uid": run.uid,
        "name": "first",
        "state": "created",
        "method": "es",
        "preset": "es-micro",
        "seed": 7,
        "url": f"/runs/{run.uid}/",
        "created_by": "ada",
    }
    assert answer.json()["config"] == RunConfig.from_json(preset("es-micro").config | {"seed": 7}).to_json()
    assert (run.experiment.name, run.experiment.owner) == ("Concise", ada)
    assert Attempt.objects.get().state == "created"


def test_the_second_launch_joins_the_experiment_of_that_name(api, bo):
    Experiment.objects.create(name="Concise", owner=bo)
    first = launch(api, experiment_name="Concise", preset="es-micro").json()
    second = launch(api, experiment_name=" Concise ", preset="grpo-micro").json()
    assert first["experiment"] == second["experiment"] == Experiment.objects.get(owner__username="ada").pk


def test_the_config_is_laid_over_the_preset(api, experiment):
    config = {"es": {"iterations": 9}, "evaluation": {"prompts": 3}}
    effective = launch(api, experiment=experiment.pk, preset="es-micro", config=config).json()["config"]
    own = preset("es-micro").config["es"]
    assert (effective["es"]["iterations"], effective["es"]["population"]) == (9, own["population"])
    assert own["iterations"] != 9
    assert (effective["evaluation"]["prompts"], effective["evaluation"]["samples"]) == (3, 2)


def test_a_config_needs_no_preset(api, experiment):
    answer = launch(api, experiment=experiment.pk, config={"method": "es", "es": {}, "model": {"path": "micro"}})
    assert answer.status_code == 201


def test_many_seeds_are_many_runs(api, experiment):
    answer = launch(api, experiment=experiment.pk, preset="es-micro", seeds=[1, 2, 3])
    assert answer.status_code == 201
    assert [run["seed"] for run in answer.json()["items"]] == [1, 2, 3]
    assert Run.objects.count() == 3


def test_many_seeds_are_launched_together_or_not_at_all(api, experiment):
    answer = launch(api, experiment=experiment.pk, preset="es-micro", seeds=[1, -1])
    assert answer.status_code == 422
    assert "seed" in paths(answer)
    assert not Run.objects.exists()


def test_invalid_config_lists_every_problem_with_its_path(api, experiment):
    config = {"es": {"noise": "pink", "itertions": 3}, "evaluation": {"prompts": "many"}}
    answer = launch(api, experiment=experiment.pk, preset="es-micro", config=config)
    assert answer.status_code == 422
    errors = paths(answer)
    assert "must be one of" in errors["es.noise"]
    assert "did you mean iterations?" in errors["es.itertions"]
    assert "whole number" in errors["evaluation.prompts"]
    assert not Run.objects.exists()


def test_an_unknown_preset_names_the_known_ones(api, experiment):
    answer = launch(api, experiment=experiment.pk, preset="es-huge")
    assert answer.status_code == 422
    assert "es-micro, es-safety-micro" in paths(answer)["preset"]


def test_a_failed_launch_leaves_no_experiment_behind(api):
    assert launch(api, experiment_name="Typo", preset="es-huge").status_code == 422
    assert not Experiment.objects.exists()


@each_case(
    ("body", "message"),
    [
        ({"preset": "es-micro"}, "give either experiment"),
        ({"experiment": 1, "experiment_name": "x"}, "give either experiment"),
        ({"experiment_name": "x", "seed": 1, "seeds": [2]}, "either seed or seeds"),
        ({"experiment_name": "x", "seeds": []}, "at least one"),
        ({"experiment_name": "x", "seeds": [1, 1]}, "none twice"),
        ({"experiment_name": "x", "presett": "es"}, "Extra inputs"),
        ({"experiment_name": ""}, "at least 1 character"),
        ({"experiment_name": "x\x00"}, "match pattern"),
        ({"experiment_name": "x", "config": {"model": {"path": ["a\x00"]}}}, "NUL"),
        ({"experiment_name": "x", "config": []}, "dictionary"),
        ({"experiment": 2**70}, "less than or equal"),
    ],
)
def test_invalid_request_is_refused_with_a_message(api, body, message):
    answer = launch(api, **body)
    assert answer.status_code == 422
    assert message in " ".join(paths(answer).values())


def test_a_body_that_is_not_json_is_refused_in_words(api):
    answer = api.post("/api/v1/runs", "{", content_type="application/json")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"


def test_a_huge_body_is_refused_in_words(api):
    answer = launch(api, experiment_name="x", config={"method": "x" * 3_000_000})
    assert answer.status_code == 413


def test_an_experiment_is_made_and_listed(api, ada):
    body = {"name": "Secret", "question": "Why?", "is_private": True}
    created = api.post("/api/v1/experiments", body, content_type="application/json")
    assert created.status_code == 201
    assert created.json() | {"owner": "ada", "question": "Why?", "is_private": True} == created.json()
    assert api.get("/api/v1/experiments").json() == {"items": [created.json()], "next": None}


def test_presets_have_a_description(api):
    presets = {p["name"]: p for p in api.get("/api/v1/presets").json()}
    assert presets["es-micro"]["config"]["method"] == "es"
    assert all(p["why"] and p["title"] for p in presets.values())


def test_a_run_is_cancelled_by_who_made_it(api, experiment):
    run = make_run(experiment)
    attempt = make_attempt(run)
    answer = api.post(f"/api/v1/runs/{run.uid}/cancel")
    assert answer.status_code == 202
    attempt.refresh_from_db()
    assert attempt.cancel_requested_at is not None


def test_a_run_that_has_ended_is_not_cancelled(api, experiment):
    run = make_run(experiment)
    run.state = "succeeded"
    run.save()
    answer = api.post(f"/api/v1/runs/{run.uid}/cancel")
    assert (answer.status_code, answer.json()["detail"]) == (409, f"Run {run.uid} has already ended (succeeded)")
