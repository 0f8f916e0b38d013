"""Access control: none without a token or session; a token acts within its scope, a user within their rights."""

import pytest
from django.test import Client

from runs import access
from runs.models import SavedView
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import make_attempt, make_run

READ, LAUNCH, INGEST = {"read", "launch", "admin"}, {"launch", "admin"}, {"ingest", "admin"}
SERVE, REPORT = {"serve", "admin"}, {"report", "launch", "admin"}
SERVICE = {"kind": "scorer", "name": "x", "instance": "0123456789", "address": "http://127.0.0.1:8000"}


@pytest.fixture
def attempt(private_experiment):
    return make_attempt(make_run(private_experiment))


def operations(attempt):
    """Return (method, address, body, scopes with the right) of each call."""
    return [*operations_of_site(attempt), *operations_of_run(attempt)]


def operations_of_site(attempt):
    """Return the calls that name no row of a run or experiment, or create one."""
    uid = attempt.run.uid
    view = SavedView.objects.create(owner=attempt.run.created_by, name="x", page="experiments").pk
    token = access.issue(attempt.run.created_by, "read")[0].pk
    return [
        ("get", "/api/v1/me", None, READ),
        ("get", "/api/v1/tokens", None, READ),
        ("post", "/api/v1/tokens", {"scope": "read"}, {"admin"}),
        ("delete", f"/api/v1/tokens/{token}", None, {"admin"}),
        ("get", "/api/v1/views", None, READ),
        ("post", "/api/v1/views", {"name": "y", "page": "experiments"}, LAUNCH),
        ("get", f"/api/v1/views/{view}", None, READ),
        ("patch", f"/api/v1/views/{view}", {"name": "z"}, LAUNCH),
        ("delete", f"/api/v1/views/{view}", None, LAUNCH),
        ("get", "/api/v1/experiments", None, READ),
        ("get", "/api/v1/presets", None, READ),
        ("post", "/api/v1/presets/es-micro/adapt", {}, LAUNCH),
        ("get", "/api/v1/runs", None, READ),
        ("get", f"/api/v1/series?run={uid}&key=a", None, READ),
        ("post", "/api/v1/experiments", {"name": "x"}, LAUNCH),
        ("post", "/api/v1/runs", {"experiment_name": "x", "preset": "es-micro"}, LAUNCH),
        ("post", "/api/v1/runs", {"kind": "external", "project": "x"}, REPORT),
        ("get", "/api/v1/services", None, READ),
        ("post", "/api/v1/services", SERVICE, SERVE),
        ("put", "/api/v1/services/scorer/x/beat", {"instance": SERVICE["instance"]}, SERVE),
        ("delete", f"/api/v1/services/scorer/x?instance={SERVICE['instance']}", None, SERVE),
    ]


def operations_of_run(attempt):
    """Return the calls that name the run, its attempt or its experiment; those that delete come last."""
    uid = attempt.run.uid
    return [
        ("get", f"/api/v1/experiments/{attempt.run.experiment_id}", None, READ),
        ("patch", f"/api/v1/experiments/{attempt.run.experiment_id}", {"tags": ["a"]}, LAUNCH),
        ("get", f"/api/v1/runs/{uid}/attempts", None, READ),
        ("get", f"/api/v1/runs/{uid}/populations", None, READ),
        ("get", f"/api/v1/runs/{uid}/engines", None, READ),
        ("get", f"/api/v1/runs/{uid}/probes", None, READ),
        ("get", f"/api/v1/attempts/{attempt.key}", None, READ),
        ("get", f"/api/v1/attempts/{attempt.key}/log", None, READ),
        ("patch", f"/api/v1/runs/{uid}", {"tags": ["a"]}, LAUNCH),
        ("get", f"/api/v1/runs/{uid}", None, READ),
        ("get", f"/api/v1/runs/{uid}/responses", None, READ),
        ("post", f"/api/v1/runs/{uid}/cancel", {}, LAUNCH),
        ("post", f"/api/v1/runs/{uid}/clone", {"config": {"compute": {"cluster": "local"}}}, LAUNCH),
        ("post", f"/api/v1/runs/{uid}/resume", {}, LAUNCH),
        ("get", f"/api/v1/runs/{uid}/checkpoints", None, READ),
        ("post", f"/api/v1/runs/{uid}/checkpoints/0", {}, LAUNCH),
        ("get", f"/api/v1/runs/{uid}/storage", None, READ),
        ("post", f"/api/v1/runs/{uid}/storage/free", {"parts": []}, LAUNCH),
        ("get", f"/api/v1/runs/{uid}/checkpoints/7/download", None, READ),
        ("post", f"/api/v1/attempts/{attempt.key}/records", "", INGEST),
        ("post", f"/api/v1/attempts/{attempt.key}/heartbeat", {}, INGEST),
        ("post", f"/api/v1/attempts/{attempt.key}/end", {}, INGEST),
        ("delete", f"/api/v1/runs/{uid}", None, LAUNCH),
        ("post", f"/api/v1/runs/{uid}/restore", None, LAUNCH),
        ("delete", f"/api/v1/experiments/{attempt.run.experiment_id}", None, LAUNCH),
        ("post", f"/api/v1/experiments/{attempt.run.experiment_id}/restore", None, LAUNCH),
    ]


LET_IN_AND_REFUSED = {"resume": 409, "free": 409, "download": 404, "heartbeat": 409, "end": 409}
"""Statuses for a caller with the right, because there is nothing to resume or download, and no external run."""


def call(client, method, address, body):
    data = {} if body is None else {"data": body, "content_type": "application/json"}
    return getattr(client, method)(address, **data)


def test_every_address_answers_401_without_token_or_session(attempt):
    for method, address, body, _ in operations(attempt):
        answer = call(Client(enforce_csrf_checks=True), method, address, body)
        assert answer.status_code == 401, address
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert "Authorization: Bearer" in answer.json()["detail"]


@each_case("text", ["", "Bearer", "Bearer esw_wrong", "Basic YWRhOmFkYQ==", "Bearer \x00"])
def test_a_wrong_token_is_no_token(attempt, text):
    client = Client(headers={"authorization": text})
    assert client.get(f"/api/v1/runs/{attempt.run.uid}").status_code == 401


@each_case("scope", ["read", "ingest", "report", "launch", "serve", "admin"])
def test_a_token_does_what_its_scope_includes_and_nothing_else(attempt, ada, scope):
    client = calls(ada, scope, run=attempt.run if scope == "ingest" else None)
    for method, address, body, allowed in operations(attempt):
        status = call(client, method, address, body).status_code
        let_in = status < 300 or status == LET_IN_AND_REFUSED.get(address.rpartition("/")[2])
        assert let_in if scope in allowed else (status == 403), f"{scope} {method} {address}: {status}"


def test_a_scope_that_is_not_enough_names_those_that_are(attempt, ada):
    answer = call(calls(ada, "read"), "post", "/api/v1/experiments", {"name": "x"})
    assert answer.json()["detail"] == "This token has scope read; this call needs launch or admin"


def test_token_cannot_reach_rows_hidden_from_its_user(attempt, cy):
    """A token of scope admin acts only with its user's rights."""
    uid = attempt.run.uid
    hidden = [
        ("get", f"/api/v1/runs/{uid}", None),
        ("patch", f"/api/v1/runs/{uid}", {}),
        ("delete", f"/api/v1/runs/{uid}", None),
        ("post", f"/api/v1/runs/{uid}/restore", None),
        ("get", f"/api/v1/runs/{uid}/attempts", None),
        ("get", f"/api/v1/runs/{uid}/populations", None),
        ("get", f"/api/v1/runs/{uid}/engines", None),
        ("get", f"/api/v1/attempts/{attempt.key}", None),
        ("get", f"/api/v1/attempts/{attempt.key}/log", None),
        ("get", f"/api/v1/experiments/{attempt.run.experiment_id}", None),
        ("patch", f"/api/v1/experiments/{attempt.run.experiment_id}", {}),
        ("delete", f"/api/v1/experiments/{attempt.run.experiment_id}", None),
        ("post", f"/api/v1/experiments/{attempt.run.experiment_id}/restore", None),
        ("get", f"/api/v1/runs/{uid}/responses", None),
        ("get", f"/api/v1/series?run={uid}&key=a", None),
        ("post", "/api/v1/runs", {"experiment": attempt.run.experiment_id, "preset": "es-micro"}),
        ("post", f"/api/v1/runs/{uid}/cancel", {}),
        ("post", f"/api/v1/runs/{uid}/clone", {}),
        ("post", f"/api/v1/runs/{uid}/resume", {}),
        ("get", f"/api/v1/runs/{uid}/checkpoints", None),
        ("post", f"/api/v1/runs/{uid}/checkpoints/0", {}),
        ("get", f"/api/v1/runs/{uid}/storage", None),
        ("post", f"/api/v1/runs/{uid}/storage/free", {"parts": []}),
        ("get", f"/api/v1/runs/{uid}/checkpoints/0/download", None),
        ("post", f"/api/v1/attempts/{attempt.key}/records", ""),
        ("post", f"/api/v1/attempts/{attempt.key}/heartbeat", {}),
        ("post", f"/api/v1/attempts/{attempt.key}/end", {}),
        ("post", "/api/v1/runs", {"kind": "external", "experiment": attempt.run.experiment_id}),
    ]
    client = calls(cy, "admin")
    for method, address, body in hidden:
        answer = call(client, method, address, body)
        assert answer.status_code == 404, address
        assert paths(answer) == {}
    assert client.get("/api/v1/runs").json()["items"] == []
    assert client.get("/api/v1/experiments").json()["items"] == []


def test_an_ingest_token_writes_its_own_run_alone(attempt, ada):
    other = make_attempt(make_run(attempt.run.experiment, "es 1"))
    client = calls(ada, "ingest", run=attempt.run)
    assert call(client, "post", f"/api/v1/attempts/{attempt.key}/records", "").status_code == 200
    assert call(client, "post", f"/api/v1/attempts/{other.key}/records", "").status_code == 404


def test_a_session_reads_and_with_its_csrf_token_changes(attempt, ada):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.get(f"/api/v1/runs/{attempt.run.uid}").status_code == 200
    refused = call(client, "post", "/api/v1/experiments", {"name": "x"})
    assert refused.status_code == 403
    assert "X-CSRFToken" in refused.json()["detail"]
    client.get("/login/?next=/")
    client.cookies["csrftoken"] = "a" * 32
    reply = client.post(
        "/api/v1/experiments", {"name": "x"}, content_type="application/json", headers={"x-csrftoken": "a" * 32}
    )
    assert reply.status_code == 201


def test_a_session_does_not_push_records(attempt, ada_client):
    assert call(ada_client, "post", f"/api/v1/attempts/{attempt.key}/records", "").status_code == 401


def test_others_see_a_public_experiment_but_neither_launch_in_it_nor_cancel(experiment, bo):
    run = make_run(experiment)
    make_attempt(run)
    client = calls(bo, "admin")
    assert client.get(f"/api/v1/runs/{run.uid}").status_code == 200
    launched = call(client, "post", "/api/v1/runs", {"experiment": experiment.pk, "preset": "es-micro"})
    assert launched.status_code == 403
    assert "belongs to ada" in launched.json()["detail"]
    for action in ("cancel", "resume", "clone", "checkpoints/0"):
        assert call(client, "post", f"/api/v1/runs/{run.uid}/{action}", {}).status_code == 403


def test_token_of_an_inactive_user_is_refused(attempt, ada):
    client = calls(ada, "read")
    ada.is_active = False
    ada.save()
    assert client.get("/api/v1/runs").status_code == 401


def test_the_description_names_every_operation_and_loads_nothing_from_elsewhere(ada):
    _, text = access.issue(ada, "read")
    answer = Client().get("/api/v1/openapi.json", headers={"authorization": f"Bearer {text}"})
    described = answer.json()
    assert described["openapi"].startswith("3.1")
    operations = [op for path in described["paths"].values() for op in path.values()]
    assert len(operations) == 125
    assert all(op["summary"] and op["description"] and op["security"] for op in operations)
    page = Client().get("/api/v1/docs")
    assert page.status_code == 200 and b'src="http' not in page.content
