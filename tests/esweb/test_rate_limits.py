"""Callers beyond a rate limit are told when to call again; other callers are not affected."""

from __future__ import annotations

import logging
import time
from uuid import uuid4

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from esweb.middleware import rate_limits
from tests.runs.api_client import calls

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("frozen_time")]


def at(address: str = "", **headers: str) -> Client:
    """Return a caller from an address of its own, because counts outlive a test."""
    return Client(REMOTE_ADDR=address or uuid4().hex, headers=headers)


def test_token_beyond_its_limit_gets_429_with_retry_after(ada: User, bo: User, settings: Settings) -> None:
    settings.CALLS_PER_MINUTE = 3
    busy, other = calls(ada, "read"), calls(bo, "read")
    statuses = [busy.get("/api/v1/runs").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    refused = busy.get("/api/v1/presets")
    assert refused["Content-Type"] == "application/problem+json"
    assert 1 <= int(refused["Retry-After"]) <= 20
    assert refused.json()["detail"] == f"Too many requests: try again in {refused['Retry-After']} s"
    assert other.get("/api/v1/runs").status_code == 200


def test_shared_links_are_limited(db: None, settings: Settings) -> None:
    settings.CALLS_PER_MINUTE = 2
    stranger = at()
    assert [stranger.get("/shared/nosuch/").status_code for _ in range(3)] == [404, 404, 429]
    assert at().get("/shared/nosuch/").status_code == 404


def test_calls_are_let_in_again_as_time_goes_by() -> None:
    limit = rate_limits.Limit("test", uuid4().hex, 600_000)
    assert [limit.wait_seconds() for _ in range(50)] == [0] * 50
    slow = rate_limits.Limit("test", uuid4().hex, 2)
    assert [slow.wait_seconds() for _ in range(2)] == [0, 0]
    refused = slow.wait_seconds()
    assert 20 <= refused <= 30
    assert slow.wait_seconds() <= refused, "a call that was refused must not push the moment away"


def test_a_clock_that_was_set_back_keeps_nobody_out() -> None:
    limit = rate_limits.Limit("test", uuid4().hex, 2)
    with redis.from_url(settings.REDIS_URL) as client:
        client.set(limit.key, (time.time() + 3 * 3600) * 1000)
    assert [limit.wait_seconds() for _ in range(2)] == [0, 0]
    assert 20 <= limit.wait_seconds() <= 30


def test_a_session_that_calls_too_often_is_limited_too(ada_client: Client, settings: Settings) -> None:
    settings.CALLS_PER_MINUTE = 1
    assert [ada_client.get("/api/v1/runs").status_code for _ in range(2)] == [200, 429]


def test_pushes_of_records_have_a_limit_of_their_own(ada: User, settings: Settings) -> None:
    settings.CALLS_PER_MINUTE, settings.PUSHES_PER_MINUTE = 1, 2
    script = calls(ada, "admin")
    assert script.get("/api/v1/runs").status_code == 200
    pushes = [script.post("/api/v1/attempts/esweb-none-a1/records", "", content_type="a/b") for _ in range(3)]
    assert [push.status_code for push in pushes] == [404, 404, 429]


def test_address_without_a_valid_token_is_limited(ada: User, settings: Settings) -> None:
    settings.STRANGERS_PER_MINUTE = 2
    address = uuid4().hex
    wrong = [at(address, authorization=f"Bearer esw_{guess}").get("/api/v1/runs").status_code for guess in range(4)]
    assert wrong == [401, 401, 429, 429]
    assert at(address).get("/api/v1/runs").status_code == 429
    assert calls(ada, "read").get("/api/v1/runs", REMOTE_ADDR=address).status_code == 200
    assert at().get("/api/v1/runs").status_code == 401


def test_passwords_cannot_be_guessed_quickly(ada: User, settings: Settings) -> None:
    settings.SIGN_INS_PER_MINUTE = 2
    guesser = at()
    tries = [guesser.post("/login/", {"username": uuid4().hex, "password": str(n)}) for n in range(3)]
    assert [answer.status_code for answer in tries] == [200, 200, 429]
    assert int(tries[2]["Retry-After"]) <= 30
    assert "Too many sign-in attempts" in tries[2].content.decode()
    assert "script-src 'self'" in tries[2]["Content-Security-Policy"]
    assert guesser.get("/login/").status_code == 200


def test_a_name_cannot_be_tried_from_many_addresses(settings: Settings) -> None:
    settings.SIGN_INS_PER_MINUTE = 1
    name = uuid4().hex
    tries = [
        at().post("/login/", {"username": username, "password": "x"}) for username in (name, name.upper(), name, name)
    ]
    assert [answer.status_code for answer in tries] == [200, 200, 200, 429]


def test_sign_in_is_refused_without_redis(db: None, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1"
    rate_limits._valkey.cache_clear()
    browser = Client(raise_request_exception=False)
    refused = browser.post("/login/", {"username": "ada", "password": "x"})
    rate_limits._valkey.cache_clear()
    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert "Valkey, which stores counters and queues, does not answer" in refused.content.decode()
    assert browser.get("/login/").status_code == 200


def test_calls_without_redis_are_allowed_and_logged(
    ada: User, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1"
    with caplog.at_level(logging.WARNING):
        assert calls(ada, "read").get("/api/v1/runs").status_code == 200
    assert "Rate limits cannot reach Redis" in caplog.text
