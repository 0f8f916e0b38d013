"""Replies of /healthz."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from esweb.bootstrap import health
from esweb.bootstrap.disk_room import DiskWatch
from runs.models import Cluster
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for servers that answer as long as a busy machine needs."""
    monkeypatch.setattr(health, "ANSWER_SECONDS", PATIENCE_SECONDS)
    # The room on this machine's own disk.
    monkeypatch.setattr(health, "watch", DiskWatch(list))


@pytest.mark.django_db
def test_a_stranger_learns_that_all_is_well(client: Client) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "redis": "ok", "disk": "ok"}


@pytest.mark.django_db
def test_a_silent_redis_makes_it_ill(client: Client, settings, tmp_path) -> None:
    settings.CACHES = {
        **settings.CACHES,
        "default": {**settings.CACHES["default"], "LOCATION": f"unix://{tmp_path}/no"},
    }
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {"database": "ok", "redis": "does not answer", "disk": "ok"}


LOCAL = ["127.0.0.1", "127.0.0.1:8000", "localhost", "localhost:1", "[::1]:8000"]


@pytest.mark.django_db
@pytest.mark.parametrize("host", LOCAL)
def test_health_is_answered_on_loopback_when_other_hosts_are_allowed(
    client: Client, settings: Settings, host: str
) -> None:
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["esweb.example"], True
    answer = client.get("/healthz", headers={"host": host})
    assert (answer.status_code, answer.json()) == (200, {"database": "ok", "redis": "ok", "disk": "ok"})
    assert client.post("/healthz", headers={"host": host}).status_code == 400
    assert client.get("/login/", headers={"host": host}).status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", ""])
def test_health_is_refused_under_another_name(client: Client, settings: Settings, host: str) -> None:
    settings.ALLOWED_HOSTS = ["esweb.example"]
    assert client.get("/healthz", headers={"host": host}).status_code == 400


def test_this_machine_is_a_cluster_from_the_first_migration_on(local: Cluster) -> None:
    assert local.kind == "local"
