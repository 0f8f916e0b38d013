"""How often a server is asked: evenly by the minute, so many at once, and not at all while it says that it is busy."""

from __future__ import annotations

import time

import pytest
import redis

from judging.judge_runs import rate_limits
from judging.judge_runs import rate_limits as counting
from judging.judge_runs.rate_limits import Limits
from judging.models import Judge


@pytest.fixture
def at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty requests may take a busy machine seconds, in which more would be let in."""
    stopped = rate_limits.TAKE.replace("redis.call('TIME')", f"{{{int(time.time())}, 0}}")
    # Nor are counts forgotten meanwhile.
    monkeypatch.setattr(counting, "TAKE", stopped.replace("full_at - now) + 1000", "full_at - now) + 600000"))


def limits(**said: int) -> Limits:
    limits.made += 1  # type: ignore[attr-defined]
    return Limits(Judge(base_url=f"http://limits-{limits.made}/v1", model="m", **said))  # type: ignore[attr-defined]


limits.made = 0  # type: ignore[attr-defined]


def taken(of: Limits, tokens: int = 1) -> list[float]:
    """The waits of thirty requests at once; each that may go is answered at once."""
    waits = []
    for _ in range(30):
        place, wait = of.take(tokens)
        waits.append(wait)
        if place:
            of.give_back(place)
    return waits


@pytest.mark.usefixtures("at_one_moment")
def test_a_sixth_of_a_minute_comes_at_once_and_the_rest_evenly() -> None:
    waits = taken(limits(requests_per_minute=60, at_once=99))
    assert waits[:10] == [0.0] * 10 and all(0.5 < wait <= 1.0 for wait in waits[10:])


@pytest.mark.usefixtures("at_one_moment")
def test_tokens_are_counted_beside_requests() -> None:
    waits = taken(limits(tokens_per_minute=6000, at_once=99), tokens=250)
    assert waits[:4] == [0.0] * 4 and all(2.0 < wait <= 2.5 for wait in waits[4:])


@pytest.mark.usefixtures("at_one_moment")
def test_a_request_larger_than_a_minute_still_goes_alone() -> None:
    waits = taken(limits(tokens_per_minute=100, at_once=99), tokens=10_000)
    assert waits[0] == 0.0 and all(59 < wait <= 60 for wait in waits[1:])


def test_no_more_go_at_once_than_there_are_places() -> None:
    of = limits(at_once=2)
    places = [of.take(1)[0] for _ in range(3)]
    assert all(places[:2]) and not places[2]
    of.give_back(places[0])
    assert of.take(1)[0]


def test_a_busy_server_is_left_alone_until_somebody_sees_to_it() -> None:
    of = limits(at_once=2)
    of.pause(30)
    place, wait = of.take(1)
    assert not place and 0 < wait <= 30
    of.fresh()
    assert of.take(1)[0]


def test_without_redis_nobody_is_asked_and_nothing_that_came_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    of = limits(at_once=2)
    place, _ = of.take(1)
    with monkeypatch.context() as away:
        away.setattr(counting, "_valkey", lambda: redis.from_url("redis://127.0.0.1:1"))
        assert of.take(1) == ("", rate_limits.PLACE_RETRY_SECONDS)
        of.give_back(place)
        of.pause(30)
        of.well()
        assert of.trouble() == 0
    assert of.take(1)[0] and not of.take(1)[0], "a place that was not given back lapses later"


def test_troubles_are_counted_until_an_answer_is_good() -> None:
    of = limits()
    assert [of.trouble(), of.trouble()] == [1, 2]
    of.well()
    assert of.trouble() == 1
