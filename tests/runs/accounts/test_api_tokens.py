"""One's own tokens over the API, and who one is."""

import pytest

from runs.access import give_role
from runs.models import ApiToken
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run


@pytest.fixture
def api(ada):
    return calls(ada, "admin")


def make(api, **body):
    return api.post("/api/v1/tokens", body, content_type="application/json")


def test_a_caller_is_told_who_they_are(api, ada, ada_client):
    said = api.get("/api/v1/me").json()
    assert said == said | {"username": "ada", "role": "member", "scope": "admin"}
    give_role(ada, "viewer")
    assert ada_client.get("/api/v1/me").json() == {
        "username": "ada", "role": "viewer", "scope": None, "expires_at": None,
    }  # fmt: skip


def test_a_token_is_made_shown_once_used_and_revoked(api, client):
    made = make(api, scope="read", name="notebook", days=3)
    assert made.status_code == 201
    text, shown = made.json()["text"], made.json()["token"]
    (listed, _) = api.get("/api/v1/tokens").json()["items"]
    assert listed == shown == shown | {"name": "notebook", "scope": "read", "run": None, "last_used_at": None}
    assert text not in api.get("/api/v1/tokens").content.decode()
    headers = {"authorization": f"Bearer {text}"}
    assert client.get("/api/v1/me", headers=headers).status_code == 200
    assert api.get("/api/v1/tokens").json()["items"][0]["last_used_at"]
    assert api.delete(f"/api/v1/tokens/{shown['id']}").status_code == 204
    assert client.get("/api/v1/me", headers=headers).status_code == 401


def test_anothers_token_is_neither_seen_nor_revoked(api, bo):
    theirs = make(calls(bo, "admin"), scope="read").json()["token"]["id"]
    assert theirs not in [token["id"] for token in api.get("/api/v1/tokens").json()["items"]]
    assert api.delete(f"/api/v1/tokens/{theirs}").status_code == 404
    assert ApiToken.objects.filter(pk=theirs).exists()


def test_a_token_that_writes_records_is_for_a_run_of_ones_own(api, bo, experiment):
    run = make_run(experiment)
    assert make(api, scope="ingest", run=run.uid).json()["token"]["run"] == run.uid
    refused = make(calls(bo, "admin"), scope="ingest", run=run.uid)
    assert "is not of bo's" in paths(refused)["run"]
    assert "a run of yours" in paths(make(api, scope="ingest", run="zzzzzzzzzz"))["run"]
    assert "bound to one run" in paths(make(api, scope="ingest"))["run"]
    assert "bound to one run" in paths(make(api, scope="read", run=run.uid))["run"]


def test_an_unknown_scope_names_the_scopes(api):
    assert "'read', 'ingest', 'launch', 'serve' or 'admin'" in paths(make(api, scope="root"))["new.scope"]
