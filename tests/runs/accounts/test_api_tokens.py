"""One's own tokens over the API, and who one is."""

import pytest
from django.utils import timezone

from runs.access import give_role, issue
from runs.models import ApiToken, Attempt, Origin, key_of
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run


@pytest.fixture
def api(ada):
    return calls(ada, "admin")


def make(api, **body):
    return api.post("/api/v1/tokens", body, content_type="application/json")


def test_api_me_describes_the_caller(api, ada, ada_client):
    account = api.get("/api/v1/me").json()
    assert account == account | {"username": "ada", "role": "member", "scope": "admin"}
    give_role(ada, "viewer")
    assert ada_client.get("/api/v1/me").json() == {
        "username": "ada", "role": "viewer", "scope": None, "expires_at": None,
    }  # fmt: skip


def test_token_is_created_used_and_revoked(api, client):
    reply = make(api, scope="read", name="notebook", days=3)
    assert reply.status_code == 201
    text, token = reply.json()["text"], reply.json()["token"]
    (listed, _) = api.get("/api/v1/tokens").json()["items"]
    assert listed == token == token | {"name": "notebook", "scope": "read", "run": None, "last_used_at": None}
    assert text not in api.get("/api/v1/tokens").content.decode()
    headers = {"authorization": f"Bearer {text}"}
    assert client.get("/api/v1/me", headers=headers).status_code == 200
    assert api.get("/api/v1/tokens").json()["items"][0]["last_used_at"]
    assert api.delete(f"/api/v1/tokens/{token['id']}").status_code == 204
    assert client.get("/api/v1/me", headers=headers).status_code == 401


def test_foreign_token_is_neither_listed_nor_revoked(api, bo):
    foreign_token = make(calls(bo, "admin"), scope="read").json()["token"]["id"]
    assert foreign_token not in [token["id"] for token in api.get("/api/v1/tokens").json()["items"]]
    assert api.delete(f"/api/v1/tokens/{foreign_token}").status_code == 404
    assert ApiToken.objects.filter(pk=foreign_token).exists()


def test_tokens_of_external_attempts_are_not_listed(api, ada, ada_client, experiment):
    run = make_run(experiment)
    attempt = Attempt.objects.create(
        run=run, n=2, key=key_of(run, 2), cluster=None, origin=Origin.EXTERNAL, state="succeeded",
        drained_at=timezone.now(),
    )  # fmt: skip
    issue(ada, "ingest", name=attempt.key, run=run)
    issue(ada, "ingest", name="my own", run=run)
    assert [token["name"] for token in api.get("/api/v1/tokens").json()["items"]] == ["my own", ""]
    page = ada_client.get("/settings/tokens/").content.decode()
    assert "my own" in page and attempt.key not in page


def test_ingest_token_is_limited_to_an_own_run(api, bo, experiment):
    run = make_run(experiment)
    assert make(api, scope="ingest", run=run.uid).json()["token"]["run"] == run.uid
    refused = make(calls(bo, "admin"), scope="ingest", run=run.uid)
    assert "does not belong to bo" in paths(refused)["run"]
    assert "a run of yours" in paths(make(api, scope="ingest", run="zzzzzzzzzz"))["run"]
    assert "needs a run" in paths(make(api, scope="ingest"))["run"]
    assert "needs a run" in paths(make(api, scope="read", run=run.uid))["run"]


def test_an_unknown_scope_names_the_scopes(api):
    assert "'read', 'ingest', 'report', 'launch', 'serve' or 'admin'" in paths(make(api, scope="root"))["new.scope"]
