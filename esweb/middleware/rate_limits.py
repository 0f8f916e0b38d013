"""Limit the calls of each caller; further calls are answered 429 with Retry-After. Redis counts for all web processes.

A caller is a valid token, else a stored session of a browser. Callers with neither are counted by address, whatever
they send: a header that nobody has checked is no identity. So wrong tokens of one script never block the valid ones
from the same address, and thousands of them count as one caller. Signing in is counted by address, and more generously
by name, as the form reads it, because guessing a name's password must not lock its owner out.

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
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from esweb import env
from esweb.middleware.client_address import client_address
from esweb.middleware.precheck import get_precheck
from runs.http import problem, request_session, request_token

log = logging.getLogger(__name__)

API = "/api/v1/"
SHARED = "/shared/"
VOTES, VOTE_LINKS = "/vote/", "/vote/link/"
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
        # A call that one limit refuses is not counted by the next: or one address could use up the tries of a name.
        if wait := next((wait for limit in _limits(request) if (wait := limit.wait_seconds())), 0):
            return _too_many(request, wait)
        return self.get_response(request)


def push_limit(token_digest: str) -> Limit:
    """Return the limit of pushes with the valid token of this digest."""
    return Limit("push", token_digest, settings.PUSHES_PER_MINUTE)


def sign_in_name(raw: str) -> str:
    """Return the name under which tries to sign in are counted: one for all spellings that the form takes for the same.

    Names that differ only in case are counted together, although they may be two users.
    """
    return str(AuthenticationForm().fields["username"].to_python(raw)).casefold()


def _limits(request: HttpRequest) -> list[Limit]:
    if get_precheck(request).is_counted:
        return []
    if request.path.startswith(API):
        return [_api_limit(request)]
    if _is_form_of(request, "login"):
        by_address = Limit(SIGN_IN, client_address(request), settings.SIGN_INS_PER_MINUTE)
        return [by_address, _name_limit(request.POST.get("username", ""))]
    if _is_form_of(request, "settings-password") and request.user.is_authenticated:
        # The form checks the present password.
        return [_name_limit(request.user.get_username())]
    if request.path.startswith(SHARED):
        return [Limit("shared", client_address(request), settings.CALLS_PER_MINUTE)]
    if request.path.startswith(VOTES):
        # Opening a link gives the browser a new session each time, which would be a new caller.
        return [_stranger(request) if request.path.startswith(VOTE_LINKS) else _session_limit(request)]
    return []


def _is_form_of(request: HttpRequest, route: str) -> bool:
    return request.method == "POST" and request.path == reverse(route)


def _api_limit(request: HttpRequest) -> Limit:
    token = request_token(request)
    if token is None:
        return _session_limit(request)
    if request.path.endswith(PUSHES):
        return push_limit(token.digest)
    return Limit("call", f"token {token.digest}", settings.CALLS_PER_MINUTE)


def _session_limit(request: HttpRequest) -> Limit:
    """Return the limit of the browser's session; the limit of its address if the session is not stored here."""
    session = request_session(request)
    return Limit("call", f"session {session}", settings.CALLS_PER_MINUTE) if session else _stranger(request)


def _name_limit(raw: str) -> Limit:
    return Limit(NAME, sign_in_name(raw), NAME_FACTOR * settings.SIGN_INS_PER_MINUTE)


def _stranger(request: HttpRequest) -> Limit:
    return Limit("stranger", client_address(request), settings.STRANGERS_PER_MINUTE)


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
