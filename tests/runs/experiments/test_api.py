"""Experiments and runs over the API: named, tagged, archived, deleted, restored; and found again."""

import pytest

from runs.models import Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run


@pytest.fixture
def api(ada):
    return calls(ada, "launch")


@pytest.fixture
def run(experiment):
    return make_run(experiment)


@pytest.fixture(params=["experiment", "run"])
def address(request, run):
    return f"/api/v1/runs/{run.uid}" if request.param == "run" else f"/api/v1/experiments/{run.experiment_id}"


def change(api, address, **body):
    return api.patch(address, body, content_type="application/json")


def names(api, address):
    answer = api.get(address)
    assert answer.status_code == 200, answer.content
    return [item["name"] for item in answer.json()["items"]]


def test_patch_changes_only_the_given_fields(api, address):
    before = api.get(address).json()
    changed = change(api, address, name=" New ", tags=["a", "b", "a"], note="**why**").json()
    assert changed == before | {"name": "New", "tags": ["a", "b"], "note": "**why**"} == api.get(address).json()
    assert change(api, address).json() == changed


def test_archived_rows_are_listed_separately_and_readable(api, address):
    listed = address.rpartition("/")[0]
    assert change(api, address, archived=True).json()["archived_at"]
    assert (names(api, listed), len(names(api, f"{listed}?shelf=archived"))) == ([], 1)
    assert api.get(address).status_code == 200
    assert change(api, address, archived=False).json()["archived_at"] is None
    assert len(names(api, listed)) == 1


def test_deleted_rows_are_gone_until_restored(api, address):
    listed = address.rpartition("/")[0]
    before = api.get(address).json()
    assert (api.delete(address).status_code, api.get(address).status_code) == (204, 404)
    assert api.delete(address).status_code == 404
    assert (names(api, listed), len(names(api, f"{listed}?shelf=bin"))) == ([], 1)
    for _ in range(2):
        restored = api.post(f"{address}/restore")
        assert (restored.status_code, restored.json()["deleted_at"]) == (200, None)
    assert api.get(address).json()["name"] == before["name"]


def test_deleted_run_is_cancelled(api, run):
    api.delete(f"/api/v1/runs/{run.uid}")
    assert run.newest_attempt().cancel_requested_at is not None


def test_others_may_look_and_change_nothing(bo, address):
    other_api = calls(bo, "admin")
    assert other_api.get(address).status_code == 200
    for answer in (
        change(other_api, address, name="mine"),
        other_api.delete(address),
        other_api.post(f"{address}/restore"),
    ):
        assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert not Experiment.objects.filter(name="mine").exists() and not Run.objects.filter(name="mine").exists()


@each_case(
    ("body", "path"),
    [
        ({"name": " "}, "name"),
        ({"tags": ["a" * 51]}, "tags.0"),
        ({"tags": ["a,b"]}, "tags.0"),
        ({"note": "\x00"}, "note"),
        ({"note": "\ud800"}, "note"),
        ({"archived": "maybe"}, "archived"),
        ({"state": "failed"}, "state"),
        ({"owner": 1}, "owner"),
    ],
)
def test_invalid_fields_are_refused_with_messages(api, address, body, path):
    refused = change(api, address, **body)
    assert refused.status_code == 422
    assert path in {path_of_error.partition("new.")[2] or path_of_error for path_of_error in paths(refused)}


def test_experiments_come_newest_first_page_by_page_by_words_and_tags(api, ada):
    for i in range(5):
        Experiment.objects.create(name=f"E{i}", question="concise?" if i % 2 else "", owner=ada, tags=["x"] * (i > 2))
    first = api.get("/api/v1/experiments?limit=3").json()
    rest = api.get(f"/api/v1/experiments?limit=3&cursor={first['next']}").json()
    assert [e["name"] for e in first["items"] + rest["items"]] == ["E4", "E3", "E2", "E1", "E0"]
    assert rest["next"] is None
    assert names(api, "/api/v1/experiments?q=CONC e") == ["E3", "E1"]
    assert names(api, "/api/v1/experiments?tag=x") == ["E4", "E3"]
    assert "'bin'" in paths(api.get("/api/v1/experiments?shelf=attic"))["shelf"]


def test_runs_are_listed_by_their_properties(api, experiment):
    for name in ("es-micro", "grpo-micro"):
        for seed in (0, 1):
            make_run(experiment, name, seed=seed)
    Run.objects.filter(name="es-micro seed 1").update(tags=["good"])
    assert names(api, "/api/v1/runs?method=grpo") == ["grpo-micro seed 1", "grpo-micro seed 0"]
    assert names(api, "/api/v1/runs?preset=es-micro&seed=0") == ["es-micro seed 0"]
    assert names(api, "/api/v1/runs?q=seed 1 es-") == names(api, "/api/v1/runs?tag=good") == ["es-micro seed 1"]
