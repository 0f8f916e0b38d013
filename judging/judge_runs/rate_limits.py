"""How often a judge's server may be asked: requests and tokens a minute, and how many at once, for all processes.

Counted in Redis by address and model, because that is what providers count by. A server that says it is busy is left
alone as long as it asked for.

Where Redis does not answer, nobody asks meanwhile, and what is under way is kept: an answer that came has its price.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from secrets import token_hex
from typing import TypeVar

import redis
from django.conf import settings

from judging.models import Judge

log = logging.getLogger(__name__)
T = TypeVar("T")

ANSWER_SECONDS = 2.0
BURST_SECONDS = 10
"""What a minute allows comes evenly; so much of it may come at once."""
# Two buckets that refill steadily, each kept as the moment at which it is full again (GCRA), and a set of places that
# lapse. Takes from all or from none. Answers milliseconds to wait; -1 where all places are taken.
TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local pause = tonumber(redis.call('GET', KEYS[3]) or 0)
if pause > now then return math.ceil(pause - now) end
local burst, full, wait = tonumber(ARGV[5]), {}, 0
for k = 1, 2 do
  local cost = tonumber(ARGV[k])
  full[k] = math.max(tonumber(redis.call('GET', KEYS[k]) or 0), now)
  if full[k] - now > 600000 then full[k] = now end
  if cost > 0 then wait = math.max(wait, full[k] - now - math.max(burst - cost, 0)) end
end
if wait > 0 then return math.ceil(wait) end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
if redis.call('ZCARD', KEYS[4]) >= tonumber(ARGV[3]) then return -1 end
redis.call('ZADD', KEYS[4], now + tonumber(ARGV[4]), ARGV[6])
redis.call('PEXPIRE', KEYS[4], ARGV[4])
for k = 1, 2 do
  if tonumber(ARGV[k]) > 0 then
    local full_at = full[k] + tonumber(ARGV[k])
    redis.call('SET', KEYS[k], string.format('%.3f', full_at), 'PX', math.ceil(full_at - now) + 1000)
  end
end
return 0
"""
PLACE_RETRY_SECONDS = 0.2


class Limits:
    """Of one judge's server. `place` names who has taken one: give it back when the answer is there."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        name = sha256(f"{judge.base_url} {judge.model}".encode()).hexdigest()[:32]
        self._keys = [f"esweb:judge:{what}:{name}" for what in ("requests", "tokens", "pause", "places", "troubles")]

    def take(self, tokens: int) -> tuple[str, float]:
        """(place, 0) where a request of so many tokens may go now; ("", seconds to wait) where not."""
        judge, place = self._judge, token_hex(8)
        costs = (_cost(1, judge.requests_per_minute), _cost(tokens, judge.tokens_per_minute))
        lapses = 1000 * (judge.answer_seconds + 30)
        arguments = (*costs, max(judge.at_once, 1), lapses, 1000 * BURST_SECONDS, place)
        wait = _told(lambda server: int(server.eval(TAKE, 4, *self._keys[:4], *map(str, arguments))), -1)
        if wait == 0:
            return place, 0.0
        return "", PLACE_RETRY_SECONDS if wait < 0 else wait / 1000

    def give_back(self, place: str) -> None:
        """The answer is there, or will never be. One that is not given back lapses."""
        _told(lambda server: server.zrem(self._keys[3], place), 0)

    def pause(self, seconds: float) -> None:
        """Nobody asks for so long."""

        def note(server: redis.Redis) -> None:
            now, microseconds = server.time()
            until = 1000 * (now + seconds) + microseconds / 1000
            server.set(self._keys[2], f"{until:.3f}", px=max(int(1000 * seconds), 1))

        _told(note, None)

    def trouble(self) -> int:
        """Counts an answer that was none; how many that makes without a good one between."""
        return _told(lambda server: int(server.incr(self._keys[4])), 0)

    def well(self) -> None:
        """A good answer came, or somebody has seen to it."""
        _told(lambda server: server.delete(self._keys[4]), 0)

    def fresh(self) -> None:
        """Forgets pauses and troubles: somebody has seen to the server."""
        _told(lambda server: server.delete(self._keys[2], self._keys[4]), 0)


def _cost(amount: int, per_minute: int) -> float:
    """Milliseconds of a minute that it takes; one that is larger than all of a minute still goes, alone."""
    return min(60_000.0, amount * 60_000 / per_minute) if per_minute else 0.0


def _told(ask: Callable[[redis.Redis], T], instead: T) -> T:
    """What Redis says; `instead` where it does not answer."""
    try:
        return ask(_valkey())
    except redis.RedisError as error:
        log.warning("Questions to judges are not counted, because Redis does not answer: %s", error)
        return instead


@cache
def _valkey() -> redis.Redis:
    return redis.from_url(settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS)
