"""Websocket of a page: the page names the runs it shows and their last batches, and receives what comes after.

One task per socket sends points. It uses the news only if each batch follows the last one sent; otherwise, after a lost
connection or a full box, it reads the missing batches from the database. So no point is missing or sent twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user, get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from runs.metrics import reading
from runs.metrics.json_numbers import Points, wire
from runs.metrics.live.allowances import MAX_MESSAGES, MAX_SOCKETS, MESSAGES_PER_SECOND, Allowance
from runs.metrics.live.hub import Mail, hub
from runs.metrics.live.publish import News
from runs.metrics.reading import backlog, compacted, since
from runs.models import Run
from workers.config.shallow_json import loads

log = logging.getLogger(__name__)

COALESCE_SECONDS = 0.25
RIGHTS_CHECK_SECONDS = 60.0
MAX_RUNS = 100
# A page that missed more than this fetches its charts again, down-sampled, which is less to send and to draw.
MAX_BACKLOG_BYTES = 1_000_000
# Other texts never reach the database, which can store neither NUL nor half a surrogate pair.
MAX_UID_LENGTH = 60
UID = re.compile(rf"[A-Za-z0-9-]{{1,{MAX_UID_LENGTH}}}")
NOT_SIGNED_IN = 4401
BROKEN = 1011
SESSION_ENDED = 4408
"""Close code for an ended session. The page reconnects with its current cookie, and must sign in if it has none."""
TOO_LONG = 1009
TOO_MANY_MESSAGES = 4429
TOO_MANY_SOCKETS = 4430
"""Close codes for users who exceed their allowance. A page reconnects after a while, and polls until then."""


@dataclass
class Watched:
    """A run that the page shows, and the last batch that was sent to it."""

    run_id: int
    cursor: int


class Outlet:
    """The messages to one socket. After the one that closes it nothing is sent: a consumer's two tasks do not wait for
    each other."""

    def __init__(self, send: Any) -> None:
        self.is_closed = False
        self._send = send

    async def __call__(self, message: dict[str, Any]) -> None:
        """Send a message, or drop it if the socket is closed. Raise OSError if the page has gone."""
        if not self.is_closed:
            self.is_closed = message["type"] == "websocket.close"
            await self._send(message)


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """Consumer of /ws/live: takes {"watch": {uid: cursor}}; sends watching, points, changed, behind, refused, error.

    The server refuses longer messages than SOCKET_MESSAGE_BYTES, so that parsing one takes at most a few milliseconds.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.watched: dict[str, Watched] = {}
        self.turn = asyncio.Lock()
        self.sender: asyncio.Task[None] | None = None
        self.allowance: Allowance | None = None
        self.rights_checked_at = time.monotonic()
        self.outlet = Outlet(send)
        try:
            await super().__call__(scope, receive, self.outlet)
        finally:
            # Clean up here: Channels calls `disconnect` only if the socket was closed in good order.
            if self.sender is not None:
                self.sender.cancel()
                hub().close(self.box)
            if self.allowance is not None:
                self.allowance.close_socket()

    async def connect(self) -> None:
        await self.accept()
        self.person = self.scope.get("user")
        if self.person is None or not self.person.is_authenticated:
            await self.send_json({"type": "refused", "run": None, "why": "Sign in to watch runs."})
            await self.close(NOT_SIGNED_IN)
            return
        allowance = hub().allowances.allowance(self.person.pk)
        if not allowance.open_socket():
            await self._end(TOO_MANY_SOCKETS, f"You have {MAX_SOCKETS} live pages open. Close some of them.")
            return
        self.allowance = allowance
        self.box = hub().open()
        self.sender = asyncio.create_task(self._send_forever())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        """Replace the watched runs."""
        if self.sender is None or self.allowance is None:
            return
        if not self.allowance.take_message():
            rate = f"{MAX_MESSAGES} messages, and {MESSAGES_PER_SECOND:g} more each second"
            await self._end(TOO_MANY_MESSAGES, f"Too many messages. A user may send {rate}.")
            return
        if max(len(text_data or ""), len(bytes_data or b"")) > settings.SOCKET_MESSAGE_BYTES:
            await self._end(TOO_LONG, f"A message may have at most {settings.SOCKET_MESSAGE_BYTES} bytes.")
            return
        cursors = _parse_watch(text_data or "")
        if cursors is None:
            error_text = (
                f'Send {{"watch": {{"<run uid>": <cursor>}}}}, at most {MAX_RUNS} runs; a cursor is 0 or a batch id.'
            )
            await self.send_json({"type": "error", "why": error_text})
            return
        async with self.turn:
            if await self._is_signed_in():
                await self._watch(cursors)

    async def _watch(self, cursors: Mapping[str, int]) -> None:
        ids = await _visible(self.person.pk, [uid for uid in cursors if UID.fullmatch(uid)])
        self.watched = {uid: Watched(ids[uid], cursor) for uid, cursor in cursors.items() if uid in ids}
        # Open the box before reading the database: a batch committed in between is in both, and one copy is dropped.
        self.box.runs = set(self.watched)
        self.box.lose(*self.watched)
        for uid in sorted(cursors.keys() - ids.keys()):
            await self._refuse(uid)
        # Changes are sent from here on. The page must fetch the changes between its rendering and now.
        await self.send_json({"type": "watching"})

    async def _is_signed_in(self) -> bool:
        """Return whether the session is still the user's. If not, close the socket: the user has signed out or has a
        new password, or the session was another user's copy."""
        if await _is_session_of(self.scope["session"].session_key, self.person.pk):
            return True
        self.watched, self.box.runs = {}, set()
        await self.close(SESSION_ENDED)
        return False

    async def _end(self, code: int, why: str) -> None:
        """Send the reason and close the socket."""
        self.watched = {}
        if self.sender is not None:
            self.box.runs = set()
        await self.send_json({"type": "error", "why": why})
        await self.close(code, why)

    async def _refuse(self, uid: str) -> None:
        uid = uid[:MAX_UID_LENGTH]
        await self.send_json({"type": "refused", "run": uid, "why": f"There is no run {uid} that you may see."})

    async def _send_forever(self) -> None:
        """Send points until the socket ends. An error closes the socket; the page reconnects with its cursor."""
        try:
            while not self.outlet.is_closed:
                mail = await self.box.take()
                async with self.turn:
                    await self._drop_forbidden()
                    await self._pass_on(mail)
                await asyncio.sleep(COALESCE_SECONDS)
        except OSError:
            return  # ASGI servers report a page that has gone this way; the socket's own end follows.
        except Exception:
            log.exception("Live socket failed; closing it")
            with suppress(OSError):
                await self.close(BROKEN)

    async def _pass_on(self, mail: Mail) -> None:
        for uid in sorted(mail.lost):
            await self._catch_up(uid)
        for uid in dict.fromkeys(news.run for news in mail.news):
            await self._follow(uid, [news for news in mail.news if news.run == uid])
        for uid, what in mail.changed:
            if uid in self.watched:
                await self.send_json({"type": "changed", "run": uid, "what": what})

    async def _follow(self, uid: str, news: list[News]) -> None:
        """Send the points after the last batch sent, as one message; read the database if the news has a gap."""
        watched = self.watched.get(uid)
        if watched is None:
            return
        merged: Points = {}
        for item in news:
            if item.cursor <= watched.cursor:
                continue
            if item.points is None or item.previous > watched.cursor:
                await self._send_points(uid, watched.cursor, merged)
                merged = {}
                await self._catch_up(uid)
            else:
                _extend(merged, item.points)
                watched.cursor = item.cursor
        await self._send_points(uid, watched.cursor, merged)

    async def _catch_up(self, uid: str) -> None:
        """Send the database's batches after the cursor, in pieces; or send `behind` if fetching again is cheaper."""
        watched = self.watched.get(uid)
        if watched is None:
            return
        is_stale, newest = await _backlog(watched.run_id, watched.cursor)
        if is_stale:
            watched.cursor = newest
            await self.send_json({"type": "behind", "run": uid, "cursor": newest})
        while not self.outlet.is_closed and (batches := await _since(watched.run_id, watched.cursor)):
            # Check rights after reading, so that nothing written after their end is sent.
            await self._drop_forbidden()
            if uid not in self.watched:
                return
            merged: Points = {}
            for watched.cursor, points in batches:
                _extend(merged, points)
            await self._send_points(uid, watched.cursor, merged)

    async def _send_points(self, uid: str, cursor: int, points: Points) -> None:
        if points:
            message = {"type": "points", "run": uid, "cursor": cursor, "points": points}
            # Points are many, and all other requests wait in this thread for their encoding.
            await self.send(text_data=orjson.dumps(message).decode())

    async def _drop_forbidden(self) -> None:
        """Check again which runs the user may see, if the last check is old: rights can end while sockets stay open."""
        if time.monotonic() - self.rights_checked_at <= RIGHTS_CHECK_SECONDS:
            return
        self.rights_checked_at = time.monotonic()
        if not await self._is_signed_in():
            return
        ids = await _visible(self.person.pk, list(self.watched))
        for uid in sorted(self.watched.keys() - ids.keys()):
            del self.watched[uid]
            self.box.runs.discard(uid)
            await self._refuse(uid)


def _parse_watch(text: str) -> dict[str, int] | None:
    """Return the requested run uid -> cursor, or None if the message is invalid."""
    try:
        content = loads(text)
    except ValueError:
        return None
    cursors = content.get("watch") if isinstance(content, dict) else None
    if not isinstance(cursors, dict) or len(cursors) > MAX_RUNS:
        return None
    is_valid = all(type(cursor) is int and 0 <= cursor < 2**63 for cursor in cursors.values())
    return cursors if is_valid else None


def _extend(merged: Points, points: Points) -> None:
    for key, columns in points.items():
        into = merged.setdefault(key, {"step": [], "t": [], "value": []})
        for name, column in columns.items():
            into[name].extend(column)


@database_sync_to_async  # type: ignore[untyped-decorator]
def _is_session_of(session_key: str | None, person_id: int) -> bool:
    """Return whether a session is stored, and is this user's by their present password."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    return get_user(request).pk == person_id


@database_sync_to_async  # type: ignore[untyped-decorator]
def _visible(person_id: int, uids: list[str]) -> dict[str, int]:
    """Return uid -> run id of the runs that the user may see now."""
    person = get_user_model().objects.filter(pk=person_id).first()
    return dict(Run.objects.visible_to(person).filter(uid__in=uids).values_list("uid", "pk")) if person else {}


@database_sync_to_async  # type: ignore[untyped-decorator]
def _since(run_id: int, cursor: int) -> list[tuple[int, Points]]:
    return [(batch, wire(points)) for batch, points in since(run_id, cursor)]


@database_sync_to_async  # type: ignore[untyped-decorator]
def _backlog(run_id: int, cursor: int) -> tuple[bool, int]:
    """Return (whether the page has missed too much to send or batches that are compacted by now, newest batch)."""
    newest = reading.newest(run_id)
    is_stale = compacted(run_id) > cursor or backlog(run_id, cursor) > MAX_BACKLOG_BYTES
    return is_stale, newest
