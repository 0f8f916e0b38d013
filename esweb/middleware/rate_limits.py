"""Limit the calls of each caller; further calls are answered 429 with Retry-After. Redis counts for all web processes.

A caller is a token, else a browser's session; callers with neither, or a wrong one, are counted by address, so that
wrong tokens of one script never block the valid ones from the same address. Signing in is counted by address, and more
generously by name, because guessing a name's password must not lock its owner out.

If Redis does not answer, calls are allowed and logged: Redis is the queue of all jobs, and has to be repaired anyway.
Tries to sign in are answered 503 then, because they may be guesses of passwords.

The limits are listed in `.env.example`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from esweb import env
from esweb.middleware.precheck import get_precheck
from runs.http import problem

log = logging.getLogger(__name__)

API = "/api/v1/"
SHARED = "/shared/"
VOTES = "/vote/"
PUSHES = "/records"
NAME_FACTOR = 3
"""A name may be tried from all addresses together so many times as often as one address may sign in."""
SIGN_IN, NAME = "sign-in", "name"
ANSWER_SECONDS = 0.5
# A bucket that refills steadily, stored as the one time at which it is full again (GCRA). Returns milliseconds to wait.
# A time more than a minute away was stored before the machine's clock was set back.
TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local every, minute = tonumber(ARGV[1]), 60000
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
if full_at - now > minute then full_at = now end
if full_at + every - now > minute then return math.ceil(full_at + every - now - minute) end
redis.call('SET', KEYS[1], string.format('%.3f', full_at + every), 'PX', minute + 1000)
return 0
"""


@dataclass(frozen=True)
class Limit:
    """A limit of calls a minute, of one kind and one caller. All calls of a minute may come together."""

    kind: str
    caller: str
    per_minute: int

    @property
    def key(self) -> str:
        """Return the key of Redis under which the calls are counted."""
        return f"esweb:calls:{self.kind}:{sha256(self.caller.encode()).hexdigest()[:32]}"

    def wait_seconds(self) -> int:
        """Count a call and return the seconds until it would be allowed, 0 if it is.

        Raise redis.RedisError if a try to sign in cannot be counted.
        """
        try:
            wait = _valkey().eval(TAKE, 1, self.key, str(60_000 / self.per_minute))
        except redis.RedisError as error:
            if self.kind in (SIGN_IN, NAME):
                raise
            log.warning("Rate limits cannot reach Redis; letting the call through uncounted: %s", error)
            return 0
        return math.ceil(int(wait) / 1000)


class Limits:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if wait := max((limit.wait_seconds() for limit in _limits(request)), default=0):
            return _too_many(request, wait)
        answer = self.get_response(request)
        # Checked after the response, because only a look at the tokens tells who is a stranger.
        if answer.status_code == 401 and _credential(request) and (wait := _stranger(request).wait_seconds()):
            return _too_many(request, wait)
        return answer


def push_limit(authorization: str) -> Limit:
    """Return the limit of pushes with this Authorization header."""
    return Limit("push", authorization, settings.PUSHES_PER_MINUTE)


def _limits(request: HttpRequest) -> list[Limit]:
    if get_precheck(request).is_counted:
        return []
    if request.path.startswith(API):
        return [_api_limit(request)]
    if request.method == "POST" and request.path == reverse("login"):
        name = request.POST.get("username", "").casefold()
        by_address = Limit(SIGN_IN, _address(request), settings.SIGN_INS_PER_MINUTE)
        return [by_address, Limit(NAME, name, NAME_FACTOR * settings.SIGN_INS_PER_MINUTE)]
    if request.path.startswith(SHARED):
        return [Limit("shared", _address(request), settings.CALLS_PER_MINUTE)]
    if request.path.startswith(VOTES):
        # A voter's browser is counted by its session; a client that tries links has none yet.
        return [
            Limit("call", credential, settings.CALLS_PER_MINUTE)
            if (credential := _credential(request))
            else _stranger(request)
        ]
    return []


def _api_limit(request: HttpRequest) -> Limit:
    if not (credential := _credential(request)):
        return _stranger(request)
    if request.path.endswith(PUSHES):
        return push_limit(credential)
    return Limit("call", credential, settings.CALLS_PER_MINUTE)


def _credential(request: HttpRequest) -> str:
    """Return the token or session that the caller sends, right or wrong; empty if there is none."""
    return request.headers.get("Authorization", "") or request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")


def _stranger(request: HttpRequest) -> Limit:
    return Limit("stranger", _address(request), settings.STRANGERS_PER_MINUTE)


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _too_many(request: HttpRequest, wait: int) -> HttpResponse:
    detail = f"Too many requests: try again in {wait} s"
    answer: HttpResponse
    if request.path.startswith(API):
        answer = problem(429, detail)
    else:
        answer = TemplateResponse(request, "429.html", {"wait": wait}, status=429).render()
    answer["Retry-After"] = str(wait)
    return answer


@cache
def _valkey() -> redis.Redis:
    limits = env.redis_limits(ANSWER_SECONDS)
    return redis.from_url(settings.REDIS_URL, **limits)
