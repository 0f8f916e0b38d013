"""Rate limits of a judge's server: evenly by the minute, limited concurrency, and no requests while it is busy."""

from __future__ import annotations

import time

import pytest
import redis

from judging.judge_runs import rate_limits
from judging.judge_runs import rate_limits as counting
from judging.judge_runs.rate_limits import JudgeRateLimiter
from judging.models import Judge


@pytest.fixture
def at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock: thirty requests may take a busy machine seconds, in which more would be admitted."""
    stopped = rate_limits.TAKE.replace("redis.call('TIME')", f"{{{int(time.time())}, 0}}")
    # Counts do not expire meanwhile either.
    monkeypatch.setattr(counting, "TAKE", stopped.replace("full_at - now) + 1000", "full_at - now) + 600000"))


def limits(**settings: int) -> JudgeRateLimiter:
    limits.count += 1  # type: ignore[attr-defined]
    return JudgeRateLimiter(Judge(base_url=f"http://limits-{limits.count}/v1", model="m", **settings))  # type: ignore[attr-defined]


limits.count = 0  # type: ignore[attr-defined]


def taken(limits: JudgeRateLimiter, tokens: int = 1) -> list[float]:
    """Return the waits of thirty immediate requests; each admitted one is released immediately."""
    waits = []
    for _ in range(30):
        slot, wait = limits.take(tokens)
        waits.append(wait)
        if slot:
            limits.release(slot)
    return waits


@pytest.mark.usefixtures("at_one_moment")
def test_rate_limit_allows_burst_of_ten_seconds() -> None:
    waits = taken(limits(requests_per_minute=60, at_once=99))
    assert waits[:10] == [0.0] * 10 and all(0.5 < wait <= 1.0 for wait in waits[10:])


@pytest.mark.usefixtures("at_one_moment")
def test_rate_limit_counts_tokens() -> None:
    waits = taken(limits(tokens_per_minute=6000, at_once=99), tokens=250)
    assert waits[:4] == [0.0] * 4 and all(2.0 < wait <= 2.5 for wait in waits[4:])


@pytest.mark.usefixtures("at_one_moment")
def test_request_larger_than_limit_is_admitted_alone() -> None:
    waits = taken(limits(tokens_per_minute=100, at_once=99), tokens=10_000)
    assert waits[0] == 0.0 and all(59 < wait <= 60 for wait in waits[1:])


def test_concurrent_requests_are_limited_to_slots() -> None:
    limiter = limits(at_once=2)
    slots = [limiter.take(1)[0] for _ in range(3)]
    assert all(slots[:2]) and not slots[2]
    limiter.release(slots[0])
    assert limiter.take(1)[0]


def test_paused_server_gets_no_requests_until_reset() -> None:
    limiter = limits(at_once=2)
    limiter.pause(30)
    slot, wait = limiter.take(1)
    assert not slot and 0 < wait <= 30
    limiter.reset()
    assert limiter.take(1)[0]


def test_rate_limiter_admits_nothing_without_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = limits(at_once=2)
    slot, _ = limiter.take(1)
    with monkeypatch.context() as away:
        away.setattr(counting, "_valkey", lambda: redis.from_url("redis://127.0.0.1:1"))
        assert limiter.take(1) == ("", rate_limits.SLOT_RETRY_SECONDS)
        limiter.release(slot)
        limiter.pause(30)
        limiter.clear_errors()
        assert limiter.count_error() == 0
    assert limiter.take(1)[0] and not limiter.take(1)[0], "a place that was not given back lapses later"


def test_trouble_count_resets_after_good_answer() -> None:
    limiter = limits()
    assert [limiter.count_error(), limiter.count_error()] == [1, 2]
    limiter.clear_errors()
    assert limiter.count_error() == 1
