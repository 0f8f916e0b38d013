"""Services register, beat and leave over the API; runs and scripts find them there."""

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


@pytest.fixture
def service(ada):
    return calls(ada, "serve")


def register(client, **changes):
    return client.post("/api/v1/services", {**SCORER, **changes}, "application/json")


def beat(client, instance="0123456789ab"):
    return client.put(f"{HERE}/beat", {"instance": instance}, "application/json")


def test_it_registers_beats_is_found_and_leaves(service, ada):
    made = register(service)
    assert made.status_code == 201
    same = {name: value for name, value in SCORER.items() if name != "instance"}
    assert made.json() == made.json() | same | {"owner": "ada", "is_alive": True}
    assert register(service).status_code == 200
    assert beat(service).json()["beat_at"] > made.json()["beat_at"]
    (found,) = calls(ada, "read").get("/api/v1/services?kind=scorer").json()["items"]
    assert found["address"] == "http://node7:8000" and "instance" not in found
    assert service.delete(f"{HERE}?instance=0123456789ab").status_code == 204
    assert calls(ada, "read").get("/api/v1/services").json()["items"] == []


def test_who_is_not_registered_hears_404_and_who_was_taken_over_from_409(service):
    assert beat(service).status_code == 404
    register(service, instance="another-one")
    assert beat(service).status_code == 409
    assert "Another process" in beat(service).json()["detail"]
    assert service.delete(f"{HERE}?instance=0123456789ab").status_code == 409
    assert Service.objects.count() == 1


def test_what_cannot_be_a_service_names_all_that_is_wrong(service):
    refused = register(service, address="ftp://x", health_path="x", token_file="x")
    assert set(paths(refused)) == {"address", "health_path", "token_file"}
    for changes in ({"kind": "Scorer"}, {"name": "../x"}, {"instance": "x"}, {"lease_seconds": 4}, {"port": 1},
                    {"capabilities": {"a": "x" * 9000}}, {"capabilities": {"a": "\x00"}}):  # fmt: skip
        assert register(service, **changes).status_code == 422, changes
    assert not Service.objects.exists()


def test_a_viewer_registers_nothing(service, ada):
    give_role(ada, "viewer")
    assert register(service).status_code == 403


def test_anothers_is_neither_found_nor_touched(service, bo):
    register(service)
    assert calls(bo, "admin").get("/api/v1/services?silent=true").json()["items"] == []
    assert beat(calls(bo, "serve")).status_code == 404


def test_silent_ones_are_listed_where_they_are_asked_for(service, ada, django_assert_num_queries):
    for n in range(20):
        register(service, name=f"s{n}")
    Service.objects.update(expires_at="2020-01-01T00:00:00Z")
    reader = calls(ada, "read")
    assert reader.get("/api/v1/services").json()["items"] == []
    reader.get("/api/v1/me")
    with django_assert_num_queries(2):
        found = reader.get("/api/v1/services?silent=true").json()["items"]
    assert len(found) == 20 and not any(one["is_alive"] for one in found)
