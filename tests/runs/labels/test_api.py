"""API of labels: draw, read blind, label, undo, decide, export and import, with the rights of the scopes."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from runs.models import Experiment, Label, LabelSet
from tests.runs.api_client import calls, paths
from tests.runs.labels.label_cases import items_of, label, make_response, make_run_of, make_set

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture
def label_set(experiment: Experiment) -> LabelSet:
    return make_set(experiment)


def test_set_is_drawn_and_listed(experiment: Experiment, ada: User) -> None:
    run = make_run_of(experiment, "es-one", [make_response("q0", "Paris"), make_response("q1", "Rome")])
    client, address = calls(ada), f"/api/v1/experiments/{experiment.pk}/label-sets"
    reply = client.post(address, {"name": "Gold", "number": 1, "runs": [run.uid]}, content_type=JSON)
    assert reply.status_code == 201
    assert (reply.json()["items"], reply.json()["labelled"], reply.json()["created_by"]) == (1, 0, "ada")
    assert [row["name"] for row in client.get(address).json()["items"]] == ["Gold"]
    refused = client.post(address, {"name": "No", "steps": "3"}, content_type=JSON)
    assert paths(refused) == {"steps": "steps must be one of all, last, 5, not '3'."}


def test_response_is_read_blind_labelled_and_undone(label_set: LabelSet, bo: User) -> None:
    client, address = calls(bo), f"/api/v1/label-sets/{label_set.pk}"
    first = client.get(f"{address}/next").json()
    assert set(first) == {"n", "done", "total", "question", "response", "codebook", "verdicts", "kinds"}
    assert (first["n"], first["done"], first["total"]) == (1, 0, 4)
    body = {"n": 1, "verdict": "wrong", "kinds": ["echo", "plays_user"], "note": "x"}
    saved = client.post(f"{address}/labels", body, content_type=JSON)
    assert saved.status_code == 201 and saved.json()["kinds"] == ["echo", "plays_user"]
    assert client.post(f"{address}/labels", body, content_type=JSON).json()["id"] == saved.json()["id"]
    assert client.get(f"{address}/next").json()["n"] == 2
    assert client.get(f"{address}/next", {"after": 4}).json()["n"] == 2
    undone = client.post(f"{address}/undo").json()
    assert (undone["n"], undone["question"]) == (1, first["question"])
    assert client.post(f"{address}/undo").status_code == 409


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"n": 1, "verdict": "odd"}, "verdict must be one of right, wrong, unclear, not 'odd'."),
        ({"n": 1, "verdict": "right", "kinds": ["lazy"]}, "kinds must be one of empty, echo"),
        (
            {"n": 1, "verdict": "wrong", "kinds": ["gibberish", "echo"]},
            "kinds has at most one of empty, echo, template, form_guess, gibberish, the first that fits, not echo and",
        ),
        ({"n": 5, "verdict": "right"}, "must be from 1 to 4, not 5"),
    ],
    ids=["verdict", "kind", "two-kinds", "place"],
)
def test_invalid_label_names_the_choices(label_set: LabelSet, bo: User, body: dict[str, object], problem: str) -> None:
    reply = calls(bo).post(f"/api/v1/label-sets/{label_set.pk}/labels", body, content_type=JSON)
    assert problem in next(iter(paths(reply).values()))
    assert not Label.objects.exists()


def test_agreement_and_decision(label_set: LabelSet, ada: User, bo: User, cy: User) -> None:
    for n, item in enumerate(items_of(label_set)):
        label(item, bo, "right")
        label(item, cy, "wrong" if n == 0 else "right")
    client, address = calls(ada), f"/api/v1/label-sets/{label_set.pk}"
    agreement = client.get(address).json()
    (pair,) = agreement["pairs"]
    assert (pair["readers"], pair["n"], pair["raw"]["value"]) == (["bo", "cy"], 4, 0.75)
    assert agreement["final"] == {"right": 3, "wrong": 0, "unclear": 0}
    (item,) = agreement["disputed"]
    decision = {"verdict": "wrong", "reason": "It is not."}
    assert calls(bo).post(f"{address}/items/{item}/decision", decision, content_type=JSON).status_code == 403
    assert client.post(f"{address}/items/{item}/decision", decision, content_type=JSON).status_code == 201
    assert client.get(address).json()["final"] == {"right": 3, "wrong": 1, "unclear": 0}
    assert client.post(f"{address}/items/{2**40}/decision", decision, content_type=JSON).status_code == 404


def test_labels_are_exported_and_imported(label_set: LabelSet, ada: User) -> None:
    LabelSet.objects.update(readers=1)
    label(items_of(label_set)[0], ada, "right")
    client = calls(ada)
    export = client.get(f"/api/v1/label-sets/{label_set.pk}/labels")
    data = b"".join(export.streaming_content)  # type: ignore[attr-defined]
    assert export["Content-Type"].startswith("text/csv") and data.startswith(b"run,step,split,prompt,sample,question")
    address = f"/api/v1/experiments/{label_set.experiment_id}/labels"
    copied = client.post(address, {"file": SimpleUploadedFile("copy.csv", data)}).json()
    assert (copied["created"], copied["items"], copied["is_new"], copied["unmatched"]) == (1, 1, True, [])
    nothing = client.post(address, {"file": SimpleUploadedFile("copy.csv", b"question\n")})
    assert nothing.status_code == 422 and "line 1: the heading lacks response" in paths(nothing)["file"]


def test_scope_and_rights_decide(label_set: LabelSet, private_experiment: Experiment, ada: User, bo: User) -> None:
    address, body = f"/api/v1/label-sets/{label_set.pk}", {"n": 1, "verdict": "right"}
    reader = calls(bo, "read")
    assert reader.get(f"{address}/next").status_code == 200
    assert reader.post(f"{address}/labels", body, content_type=JSON).status_code == 403
    new = {"name": "Bo's"}
    address = f"/api/v1/experiments/{label_set.experiment_id}/label-sets"
    assert calls(bo).post(address, new, content_type=JSON).status_code == 403
    private = make_set(private_experiment)
    for path in ("", "/next", "/labels"):
        assert reader.get(f"/api/v1/label-sets/{private.pk}{path}").status_code == 404
