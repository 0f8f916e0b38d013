"""The quick way for pushes of records, in front of Django: a fifth of the work, and the same answers.

It deals with what nearly every push is, good and plain, and hands everything else on as it came, refusals above all:
what the API promises and how it refuses is said by the route, and only there. `docs/decisions/0013` says why.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import psycopg
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from psycopg_pool import PoolTimeout

from esweb.middleware import rate_limits
from esweb.middleware.asgi_types import App, Message, Receive, Scope, Send
from esweb.middleware.back_pressure import AT_ONCE, WAITING, BackPressure, Full, check_connections
from esweb.middleware.precheck import Precheck, set_precheck
from runs import ingest
from runs.ingest import KnownWriters, Push, PushResult, keep_push
from runs.ingest.api import COLUMNAR

log = logging.getLogger(__name__)
ADDRESS = re.compile(r"/api/v1/attempts/([a-z0-9-]{1,60})/records")
EPOCH = re.compile(rb"(?:epoch=(\d{1,9}))?")
SHOWN = re.compile(rb"Bearer (esw_[\w-]{1,100})")
FORMS = {b"application/jsonl": "application/jsonl", b"application/json": COLUMNAR}
SIZE = re.compile(rb"\d{1,20}")
MAX_BYTES = 1024 * 1024
"""Larger bodies go by way of the disk, and what is saved on each would not be noticed."""
OF_ITS_OWN = {b"content-length", b"set-cookie"}


class QuickPushes:
    """The ASGI application. `site` is Django's."""

    def __init__(self, site: App) -> None:
        self.site = site
        # So many may wait, and one more is told so.
        self._threads = ThreadPoolExecutor(AT_ONCE + WAITING + 1, "push")
        self._writers = KnownWriters()
        self._headers: list[tuple[bytes, bytes]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        push = recognised(scope)
        if push is None:
            await self.site(scope, receive, send)
        elif self._headers is None:
            await self.site(scope, receive, self._learning(send))
        elif (self._writers.knows(push.token, push.key) or await self._admits(push, scope)) and push.is_small:
            await self._take(push, scope, receive, send)
        else:
            await self.site(scope, receive, send)

    async def _admits(self, push: Push, scope: Scope) -> bool:
        """Return whether the token may write the attempt, which is looked up before the body is read.

        The push itself looks anew: a right that has ended since lets a body in, and none of its records.
        """
        done = await asyncio.get_running_loop().run_in_executor(self._threads, _may_write, push)
        if isinstance(done, Precheck):
            set_precheck(scope, done)
            return False
        if done:
            self._writers.add(push.token, push.key)
        return done

    async def _take(self, push: Push, scope: Scope, receive: Receive, send: Send) -> None:
        messages = await _received(receive)
        if messages[-1]["type"] == "http.request":
            body = b"".join(message["body"] for message in messages)
            done = await asyncio.get_running_loop().run_in_executor(self._threads, taken, push, body)
            if isinstance(done, PushResult):
                await self._answer(done, send)
                return
            set_precheck(scope, done)
        await self.site(scope, _again(messages, receive), send)

    async def _answer(self, kept: PushResult, send: Send) -> None:
        body = b'{"kept": %d, "next_seq": %d}' % (kept.new, kept.next_seq)
        headers = [*(self._headers or []), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _learning(self, send: Send) -> Send:
        """Keeps the headers of Django's first good answer, which protect, and are the same with each."""

        async def learning(message: Message) -> None:
            if message.get("status") == 200:
                self._headers = [(name, text) for name, text in message["headers"] if name.lower() not in OF_ITS_OWN]
            await send(message)

        return learning


def recognised(scope: Scope) -> Push | None:
    """The push that a request is; None where it is another, or needs more of a look."""
    if scope["type"] != "http" or scope["method"] != "POST" or scope.get("root_path"):
        return None
    headers: dict[bytes, bytes] = dict(scope["headers"])
    path = ADDRESS.fullmatch(scope["path"])
    epoch = EPOCH.fullmatch(scope["query_string"])
    shown = SHOWN.fullmatch(headers.get(b"authorization", b""))
    form = FORMS.get(headers.get(b"content-type", b""))
    encoding = headers.get(b"content-encoding", b"identity")
    if not (path and epoch and shown and form and encoding in (b"identity", b"gzip") and _is_plain(scope, headers)):
        return None
    is_small = int(headers[b"content-length"]) <= MAX_BYTES
    return Push(path[1], int(epoch[1] or 0), shown[0].decode(), form, encoding == b"gzip", is_small)


def _may_write(push: Push) -> bool | Precheck:
    try:
        check_connections()
        writes = ingest.may_write(push.token, push.key)
        return Precheck(is_nobody=True) if writes is None else writes
    except Full as full:
        return Precheck(overload_reason=str(full))
    except (psycopg.Error, PoolTimeout) as error:
        log.warning("A push goes the long way, because the database did not answer: %s", error)
        return False


def taken(push: Push, body: bytes) -> PushResult | Precheck:
    """Counts a push and keeps its records: what was kept, or how far it came."""
    if rate_limits.of_push(push.authorization).wait_seconds():
        return Precheck()
    try:
        check_connections()
        with BackPressure.places.taken():
            return keep_push(push, body) or Precheck(is_counted=True)
    except Full as full:
        return Precheck(is_counted=True, overload_reason=str(full))


def _is_plain(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """True if no header comes twice, the size of the body is declared, and the site is called by its name."""
    if len(headers) < len(scope["headers"]) or not SIZE.fullmatch(headers.get(b"content-length", b"")):
        return False
    if settings.HTTPS and headers.get(b"x-forwarded-proto") != b"https":
        return False
    host, _ = split_domain_port(headers.get(b"host", b"").decode("latin-1"))
    return bool(host) and validate_host(host, settings.ALLOWED_HOSTS)


async def _received(receive: Receive) -> list[Message]:
    """Return the messages up to the end of the body, or until its sender has gone."""
    messages = [await receive()]
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body"):
        messages.append(await receive())
    return messages


def _again(messages: Iterable[Message], receive: Receive) -> Receive:
    """Return a `receive` that repeats these messages, and goes on with those that follow."""
    left = iter(messages)

    async def again() -> Message:
        return next(left, None) or await receive()

    return again
