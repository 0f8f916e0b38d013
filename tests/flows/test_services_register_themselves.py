"""A service's own side of it, against the real site: it registers, beats, gives way, and leaves."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import access
from runs.models import ApiToken, Service
from tests.workers.attempts import until
from workers.client.registry import Offer, Refused, Registration, Site, TakenOver, found, registered

pytestmark = pytest.mark.django_db(transaction=True)
OFFER = Offer("scorer", "safety", "http://127.0.0.1:8000", "/health", version="1", capabilities={"models": ["a"]})
QUICK = replace(OFFER, lease_seconds=5)
"""Beats so often that a test can wait for it."""


@pytest.fixture(autouse=True)
def site_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it answers later than a service waits for it."""
    monkeypatch.setattr("workers.client.registry.CALL_SECONDS", 90.0)


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
    with registered(live_server.url, token, QUICK):
        first = Service.objects.get().beat_at
        until(lambda: Service.objects.get().beat_at > first)


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
    with registered(live_server.url, token, QUICK) as registration:
        newer.register()
        until(lambda: registration.is_taken_over)
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
    begun = time.monotonic()
    with registered("http://127.0.0.1:9", token, OFFER) as registration:
        until(lambda: "the site was not reached" in capsys.readouterr().err)
        assert not registration.is_registered
    assert time.monotonic() - begun < 180


def test_only_a_site_of_the_web_is_asked(token: Path) -> None:
    with pytest.raises(ValueError, match="must begin with http"):
        found("file:///etc", token, "scorer")
