"""Rate limits of a judge's server, for all processes: requests and tokens a minute, and concurrent requests.

They are counted in Redis by address and model, because providers count so. A server that reports that it is busy is not
asked for the time that it requests.

If Redis does not reply, nothing is asked meanwhile, and results under way are stored: a reply that came has its price.
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
"""The allowance of a minute is spread evenly; the amount of this many seconds may be used in one burst."""
# Two buckets that refill steadily, each stored as the time at which it is full again (GCRA), and a set of slots
# that lapse. It takes from all or from none. It returns milliseconds to wait; -1 if all slots are taken.
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
SLOT_RETRY_SECONDS = 0.2


class JudgeRateLimiter:
    """Limit requests and tokens to one judge's server. `take` returns a slot id; pass it to `release` after the
    reply."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        name = sha256(f"{judge.base_url} {judge.model}".encode()).hexdigest()[:32]
        self._keys = [f"esweb:judge:{kind}:{name}" for kind in ("requests", "tokens", "pause", "places", "troubles")]

    def take(self, tokens: int) -> tuple[str, float]:
        """Return (slot, 0) if a request of so many tokens may be sent now; ("", seconds to wait) if not."""
        judge, slot = self._judge, token_hex(8)
        costs = (_cost(1, judge.requests_per_minute), _cost(tokens, judge.tokens_per_minute))
        lapses = 1000 * (judge.answer_seconds + 30)
        arguments = (*costs, max(judge.at_once, 1), lapses, 1000 * BURST_SECONDS, slot)
        wait = _call_redis(lambda server: int(server.eval(TAKE, 4, *self._keys[:4], *map(str, arguments))), -1)
        if wait == 0:
            return slot, 0.0
        return "", SLOT_RETRY_SECONDS if wait < 0 else wait / 1000

    def release(self, slot: str) -> None:
        """Release the slot after the reply, or if there will be none. A slot that is not released lapses."""
        _call_redis(lambda server: server.zrem(self._keys[3], slot), 0)

    def pause(self, seconds: float) -> None:
        """Block all requests to the server for so many seconds."""

        def note(server: redis.Redis) -> None:
            now, microseconds = server.time()
            until = 1000 * (now + seconds) + microseconds / 1000
            server.set(self._keys[2], f"{until:.3f}", px=max(int(1000 * seconds), 1))

        _call_redis(note, None)

    def count_error(self) -> int:
        """Count a failed call. Return the number of failed calls since the last success."""
        return _call_redis(lambda server: int(server.incr(self._keys[4])), 0)

    def clear_errors(self) -> None:
        """Reset the error count, after a success."""
        _call_redis(lambda server: server.delete(self._keys[4]), 0)

    def reset(self) -> None:
        """Reset pauses and the error count, after a user has checked the server."""
        _call_redis(lambda server: server.delete(self._keys[2], self._keys[4]), 0)


def _cost(amount: int, per_minute: int) -> float:
    """Return the milliseconds of a minute that the amount uses; an amount above a whole minute's limit is still sent,
    alone."""
    return min(60_000.0, amount * 60_000 / per_minute) if per_minute else 0.0


def _call_redis(command: Callable[[redis.Redis], T], default: T) -> T:
    """Return the reply of Redis; `default` if it does not reply."""
    try:
        return command(_valkey())
    except redis.RedisError as error:
        log.warning("Judge rate limits: Redis does not reply, no new calls until it does: %s", error)
        return default


@cache
def _valkey() -> redis.Redis:
    return redis.from_url(settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS)
