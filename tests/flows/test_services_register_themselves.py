"""A service's own side of it, against the real site: it registers, beats, gives way, and leaves."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import access
from runs.models import ApiToken, Service
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.client.registry import Offer, Refused, Registration, Site, TakenOver, found, registered

pytestmark = pytest.mark.django_db(transaction=True)
OFFER = Offer("scorer", "safety", "http://127.0.0.1:8000", "/health", version="1", capabilities={"models": ["a"]})


@pytest.fixture(autouse=True)
def site_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a service wait for the site as long as a busy machine takes, and beat every tenth of a second."""
    monkeypatch.setattr("workers.client.registry.CALL_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr("workers.client.registry.BEATS_A_LEASE", 10 * OFFER.lease_seconds)


@pytest.fixture
def token(ada: User, tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(access.issue(ada, "admin")[1] + "\n")
    return path


def test_it_is_found_for_as_long_as_it_runs(live_server: Any, token: Path) -> None:
    assert found(live_server.url, token, "scorer") is None
    with registered(live_server.url, token, OFFER):
        assert found(live_server.url, token, "scorer") == OFFER
        assert found(live_server.url, token, "scorer", "other") is None
    assert found(live_server.url, token, "scorer") is None


def test_it_beats_within_its_lease(live_server: Any, token: Path) -> None:
    with registered(live_server.url, token, OFFER):
        first = Service.objects.get().beat_at
        wait_until(lambda: Service.objects.get().beat_at > first, "a beat of the service")


def test_it_leaves_also_where_it_fails(live_server: Any, token: Path) -> None:
    with pytest.raises(ZeroDivisionError), registered(live_server.url, token, OFFER):
        raise ZeroDivisionError
    assert not Service.objects.exists()


def test_what_the_site_has_forgotten_registers_again(live_server: Any, token: Path) -> None:
    mine = Registration(Site(live_server.url, token), OFFER)
    mine.register()
    Service.objects.all().delete()
    mine.beat()
    assert Service.objects.get().instance == mine.instance


def test_the_newer_process_of_a_name_stays_and_the_older_says_so(
    live_server: Any, token: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = (Registration(Site(live_server.url, token), OFFER) for _ in range(2))
    older.register()
    newer.register()
    with pytest.raises(TakenOver, match="another process is scorer safety now"):
        older.beat()
    newer.beat()
    with registered(live_server.url, token, OFFER) as registration:
        newer.register()
        wait_until(lambda: registration.is_taken_over, "the older process to notice that its name is taken")
    assert "no longer registered" in capsys.readouterr().err
    assert Service.objects.get().instance == newer.instance


def test_a_token_that_may_not_is_an_error_at_once(live_server: Any, ada: User, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(access.issue(ada, "read")[1])
    with (
        pytest.raises(Refused, match="this needs serve or admin"),
        registered(live_server.url, tmp_path / "token", OFFER),
    ):
        raise AssertionError("the block must not run")


def test_a_renewed_token_is_taken_at_once(live_server: Any, token: Path, ada: User) -> None:
    mine = Registration(Site(live_server.url, token), OFFER)
    mine.register()
    ApiToken.objects.all().delete()
    with pytest.raises(Refused, match="401"):
        mine.beat()
    token.write_text(access.issue(ada, "serve")[1])
    mine.beat()


def test_a_site_that_is_away_keeps_no_service_from_running(token: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with registered("http://127.0.0.1:9", token, OFFER) as registration:
        wait_until(lambda: "the site was not reached" in capsys.readouterr().err, "the site's absence to be reported")
        assert not registration.is_registered
    assert "registry" not in [thread.name for thread in threading.enumerate()]


def test_only_a_site_of_the_web_is_asked(token: Path) -> None:
    with pytest.raises(ValueError, match="must begin with http"):
        found("file:///etc", token, "scorer")
