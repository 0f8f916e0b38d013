"""A fast path for pushes of records, in front of Django: a fifth of the work, and the same responses.

It handles plain and valid pushes, which nearly all are, and passes everything else on unchanged, refusals above all:
only the route defines the API's promises and refusals. `docs/decisions/0013` gives the reasons.
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
from esweb.middleware.back_pressure import (
    MAX_CONCURRENT_PUSHES,
    MAX_WAITING_PUSHES,
    BackPressure,
    Overloaded,
    check_connections,
)
from esweb.middleware.precheck import Precheck, set_precheck
from runs import ingest
from runs.access import digest
from runs.ingest import KnownWriters, Push, PushResult, store_push
from runs.ingest.api import COLUMNAR

log = logging.getLogger(__name__)
ADDRESS = re.compile(r"/api/v1/attempts/([a-z0-9-]{1,60})/records")
EPOCH = re.compile(rb"(?:epoch=(\d{1,9}))?")
BEARER_TOKEN = re.compile(rb"Bearer (esw_[\w-]{1,100})")
FORMS = {b"application/jsonl": "application/jsonl", b"application/json": COLUMNAR}
SIZE = re.compile(rb"\d{1,20}")
MAX_BYTES = 1024 * 1024
"""Larger bodies go by way of the disk, where this path would save little."""
PER_RESPONSE_HEADERS = {b"content-length", b"set-cookie"}


class FastIngest:
    """The ASGI application. `site` is Django's."""

    def __init__(self, site: App) -> None:
        self.site = site
        # So many may wait, and one more gets a refusal.
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_PUSHES + MAX_WAITING_PUSHES + 1, "push")
        self._writers = KnownWriters()
        self._headers: list[tuple[bytes, bytes]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        push = recognise_push(scope)
        if push is None:
            await self.site(scope, receive, send)
        elif self._headers is None:
            await self.site(scope, receive, self._storing_headers(send))
        elif (self._writers.knows(push.token, push.key) or await self._is_admitted(push, scope)) and push.is_small:
            await self._take(push, scope, receive, send)
        else:
            await self.site(scope, receive, send)

    async def _is_admitted(self, push: Push, scope: Scope) -> bool:
        """Return whether the token may write the attempt, which is looked up before the body is read.

        The push itself checks again: with a right that has ended since, a body is read, and none of its records is
        stored.
        """
        result = await asyncio.get_running_loop().run_in_executor(self._threads, _may_write, push)
        if isinstance(result, Precheck):
            set_precheck(scope, result)
            return False
        if result:
            self._writers.add(push.token, push.key)
        return result

    async def _take(self, push: Push, scope: Scope, receive: Receive, send: Send) -> None:
        messages = await _read_messages(receive)
        if messages[-1]["type"] == "http.request":
            body = b"".join(message["body"] for message in messages)
            result = await asyncio.get_running_loop().run_in_executor(self._threads, take_push, push, body)
            if isinstance(result, PushResult):
                await self._answer(result, send)
                return
            set_precheck(scope, result)
        await self.site(scope, _replay(messages, receive), send)

    async def _answer(self, result: PushResult, send: Send) -> None:
        body = b'{"kept": %d, "next_seq": %d}' % (result.new, result.next_seq)
        headers = [*(self._headers or []), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _storing_headers(self, send: Send) -> Send:
        """Store the headers of Django's first good response, which protect, and are the same with each."""

        async def store_headers(message: Message) -> None:
            if message.get("status") == 200:
                self._headers = [
                    (name, text) for name, text in message["headers"] if name.lower() not in PER_RESPONSE_HEADERS
                ]
            await send(message)

        return store_headers


def recognise_push(scope: Scope) -> Push | None:
    """Return the push in a request; None if the request is another, or needs a closer look."""
    if scope["type"] != "http" or scope["method"] != "POST" or scope.get("root_path"):
        return None
    headers: dict[bytes, bytes] = dict(scope["headers"])
    path = ADDRESS.fullmatch(scope["path"])
    epoch = EPOCH.fullmatch(scope["query_string"])
    token = BEARER_TOKEN.fullmatch(headers.get(b"authorization", b""))
    form = FORMS.get(headers.get(b"content-type", b""))
    encoding = headers.get(b"content-encoding", b"identity")
    if not (path and epoch and token and form and encoding in (b"identity", b"gzip") and _is_plain(scope, headers)):
        return None
    is_small = int(headers[b"content-length"]) <= MAX_BYTES
    return Push(path[1], int(epoch[1] or 0), token[0].decode(), form, encoding == b"gzip", is_small)


def _may_write(push: Push) -> bool | Precheck:
    try:
        check_connections()
        # Within the slots, so that looking up tokens takes no connection that is left for pages.
        with BackPressure.slots.occupied():
            writes = ingest.may_write(push.token, push.key)
        return Precheck(is_nobody=True) if writes is None else writes
    except Overloaded as overloaded:
        return Precheck(overload_reason=str(overloaded))
    except (psycopg.Error, PoolTimeout) as error:
        log.warning("Fast ingest could not reach the database; passing the push on to Django: %s", error)
        return False


def take_push(push: Push, body: bytes) -> PushResult | Precheck:
    """Count a push and store its records: return its result, or the check at which it stopped."""
    if rate_limits.push_limit(digest(push.token)).wait_seconds():
        return Precheck()
    try:
        check_connections()
        with BackPressure.slots.occupied():
            return store_push(push, body) or Precheck(is_counted=True)
    except Overloaded as overloaded:
        return Precheck(is_counted=True, overload_reason=str(overloaded))


def _is_plain(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Return whether no header comes twice, the size of the body is declared, and the site is called by its name."""
    if len(headers) < len(scope["headers"]) or not SIZE.fullmatch(headers.get(b"content-length", b"")):
        return False
    if settings.HTTPS and headers.get(b"x-forwarded-proto") != b"https":
        return False
    host, _ = split_domain_port(headers.get(b"host", b"").decode("latin-1"))
    return bool(host) and validate_host(host, settings.ALLOWED_HOSTS)


async def _read_messages(receive: Receive) -> list[Message]:
    """Return the messages up to the end of the body, or until its sender has gone."""
    messages = [await receive()]
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body"):
        messages.append(await receive())
    return messages


def _replay(messages: Iterable[Message], receive: Receive) -> Receive:
    """Return a `receive` that repeats these messages, and continues with those that follow."""
    left = iter(messages)

    async def replay() -> Message:
        return next(left, None) or await receive()

    return replay
