"""The service's side of the registry, against the real site: register, send heartbeats, be replaced, leave."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import access
from runs.models import ApiToken, Service
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.client.registry import Offer, Refused, Registration, Site, TakenOver, find_service, register_service

pytestmark = pytest.mark.django_db(transaction=True)
OFFER = Offer("scorer", "safety", "http://127.0.0.1:8000", "/health", version="1", capabilities={"models": ["a"]})


@pytest.fixture(autouse=True)
def patient_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a service wait for the site as long as a busy machine takes, and send a heartbeat every tenth of a second."""
    monkeypatch.setattr("workers.client.registry.CALL_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr("workers.client.registry.HEARTBEATS_PER_LEASE", 10 * OFFER.lease_seconds)


@pytest.fixture
def token(ada: User, tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(access.issue(ada, "admin")[1] + "\n")
    return path


def test_service_is_listed_while_it_runs(live_server: Any, token: Path) -> None:
    assert find_service(live_server.url, token, "scorer") is None
    with register_service(live_server.url, token, OFFER):
        assert find_service(live_server.url, token, "scorer") == OFFER
        assert find_service(live_server.url, token, "scorer", "other") is None
    assert find_service(live_server.url, token, "scorer") is None


def test_service_sends_heartbeats_within_lease(live_server: Any, token: Path) -> None:
    with register_service(live_server.url, token, OFFER):
        first = Service.objects.get().beat_at
        wait_until(lambda: Service.objects.get().beat_at > first, "a beat of the service")


def test_failed_service_is_removed(live_server: Any, token: Path) -> None:
    with pytest.raises(ZeroDivisionError), register_service(live_server.url, token, OFFER):
        raise ZeroDivisionError
    assert not Service.objects.exists()


def test_deleted_service_registers_again(live_server: Any, token: Path) -> None:
    registration = Registration(Site(live_server.url, token), OFFER)
    registration.register()
    Service.objects.all().delete()
    registration.beat()
    assert Service.objects.get().instance == registration.instance


def test_newer_process_replaces_older_of_same_name(
    live_server: Any, token: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = (Registration(Site(live_server.url, token), OFFER) for _ in range(2))
    older.register()
    newer.register()
    with pytest.raises(TakenOver, match="another process has registered as scorer safety"):
        older.beat()
    newer.beat()
    with register_service(live_server.url, token, OFFER) as registration:
        newer.register()
        wait_until(lambda: registration.is_taken_over, "the older process to notice that its name is taken")
    assert "no longer registered" in capsys.readouterr().err
    assert Service.objects.get().instance == newer.instance


def test_token_without_scope_is_refused_immediately(live_server: Any, ada: User, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(access.issue(ada, "read")[1])
    with (
        pytest.raises(Refused, match="this call needs serve or admin"),
        register_service(live_server.url, tmp_path / "token", OFFER),
    ):
        raise AssertionError("the block must not run")


def test_renewed_token_is_used_immediately(live_server: Any, token: Path, ada: User) -> None:
    registration = Registration(Site(live_server.url, token), OFFER)
    registration.register()
    ApiToken.objects.all().delete()
    with pytest.raises(Refused, match="401"):
        registration.beat()
    token.write_text(access.issue(ada, "serve")[1])
    registration.beat()


def test_service_runs_when_site_is_unreachable(token: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with register_service("http://127.0.0.1:9", token, OFFER) as registration:
        wait_until(
            lambda: "the site could not be reached" in capsys.readouterr().err, "the site's absence to be reported"
        )
        assert not registration.is_registered
    assert "registry" not in [thread.name for thread in threading.enumerate()]


def test_site_without_http_is_refused(token: Path) -> None:
    with pytest.raises(ValueError, match="must begin with http"):
        find_service("file:///etc", token, "scorer")
