"""Services register, send heartbeats and leave over the API; runs and scripts find them there."""

import pytest

from runs.access import give_role
from runs.models import Service
from tests.runs.api_client import calls, paths

SCORER = {
    "kind": "scorer", "name": "safety-7b", "instance": "0123456789ab", "address": "http://node7:8000",
    "health_path": "/health", "token_file": "/srv/secrets/scorer", "version": "1.2", "capabilities": {"models": ["a"]},
    "lease_seconds": 30,
}  # fmt: skip
HERE = "/api/v1/services/scorer/safety-7b"


@pytest.fixture(autouse=True)
def node_hosts(settings):
    """Allow the nodes on which members' services of these tests run."""
    settings.SCORER_HOSTS = ["node7", "node8", "localhost"]


@pytest.fixture
def service(ada):
    return calls(ada, "serve")


def register(client, **changes):
    return client.post("/api/v1/services", {**SCORER, **changes}, "application/json")


def beat(client, instance="0123456789ab"):
    return client.put(f"{HERE}/beat", {"instance": instance}, "application/json")


def test_service_registers_sends_heartbeats_and_leaves(service, ada):
    reply = register(service)
    assert reply.status_code == 201
    same = {name: value for name, value in SCORER.items() if name != "instance"}
    assert reply.json() == reply.json() | same | {"owner": "ada", "is_alive": True}
    assert register(service).status_code == 200
    assert beat(service).json()["beat_at"] > reply.json()["beat_at"]
    (service_json,) = calls(ada, "read").get("/api/v1/services?kind=scorer").json()["items"]
    assert service_json["address"] == "http://node7:8000" and "instance" not in service_json
    assert service.delete(f"{HERE}?instance=0123456789ab").status_code == 204
    assert calls(ada, "read").get("/api/v1/services").json()["items"] == []


def test_heartbeat_gets_404_when_unknown_and_409_when_replaced(service):
    assert beat(service).status_code == 404
    register(service, instance="another-one")
    assert beat(service).status_code == 409
    assert "Another process" in beat(service).json()["detail"]
    assert service.delete(f"{HERE}?instance=0123456789ab").status_code == 409
    assert Service.objects.count() == 1


def test_invalid_service_lists_every_problem(service):
    refused = register(service, address="ftp://x", health_path="x", token_file="x")
    assert set(paths(refused)) == {"address", "health_path", "token_file"}
    for changes in ({"kind": "Scorer"}, {"name": "../x"}, {"instance": "x"}, {"lease_seconds": 4}, {"port": 1},
                    {"capabilities": {"a": "x" * 9000}}, {"capabilities": {"a": "\x00"}}):  # fmt: skip
        assert register(service, **changes).status_code == 422, changes
    assert not Service.objects.exists()


def test_a_viewer_registers_nothing(service, ada):
    give_role(ada, "viewer")
    assert register(service).status_code == 403


def test_foreign_service_is_neither_listed_nor_changed(service, bo):
    register(service)
    assert calls(bo, "admin").get("/api/v1/services?silent=true").json()["items"] == []
    assert beat(calls(bo, "serve")).status_code == 404


def test_silent_services_are_listed_on_request(service, ada, django_assert_num_queries):
    for n in range(20):
        register(service, name=f"s{n}")
    Service.objects.update(expires_at="2020-01-01T00:00:00Z")
    reader = calls(ada, "read")
    assert reader.get("/api/v1/services").json()["items"] == []
    reader.get("/api/v1/me")
    with django_assert_num_queries(2):
        items = reader.get("/api/v1/services?silent=true").json()["items"]
    assert len(items) == 20 and not any(item["is_alive"] for item in items)
