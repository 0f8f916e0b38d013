"""The socket of a page: the page says which runs it shows and up to which batch, and is sent what comes after.

Points are sent by one task a socket. It trusts the news only where each batch follows the one sent before; anywhere
else, after a lost connection or a full box, it reads the missing batches from the database. So nothing is missing and
nothing comes twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth import get_user, get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from runs.metrics import reading
from runs.metrics.json_numbers import Points, wire
from runs.metrics.live.hub import Mail, hub
from runs.metrics.live.publish import News
from runs.metrics.reading import backlog, compacted, since
from runs.models import Run
from workers.config.shallow_json import loads

log = logging.getLogger(__name__)

COALESCE_SECONDS = 0.25
ASK_AGAIN_SECONDS = 60.0
MAX_RUNS = 100
# A page that missed more than this fetches its charts again, down-sampled, which is less to send and to draw.
MAX_BACKLOG_BYTES = 1_000_000
# No other text reaches the database, which can hold neither NUL nor half a surrogate pair.
UID_AT_MOST = 60
UID = re.compile(rf"[A-Za-z0-9-]{{1,{UID_AT_MOST}}}")
NOT_SIGNED_IN = 4401
BROKEN = 1011
SESSION_ENDED = 4408
"""The page comes back with the cookie that its browser has by then, and is told to sign in if that is none."""


@dataclass
class Watched:
    """A run that the page shows, and the last batch that it was sent."""

    run_id: int
    cursor: int


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """/ws/live. Takes {"watch": {run uid: cursor}}; sends watching, points, changed, behind, refused and error."""

    async def __call__(self, *args: Any) -> None:
        self.watched: dict[str, Watched] = {}
        self.turn = asyncio.Lock()
        self.sender: asyncio.Task[None] | None = None
        self.rights_checked_at = time.monotonic()
        try:
            await super().__call__(*args)
        finally:
            # However it ends: Channels calls `disconnect` only where the socket was closed in good order.
            if self.sender is not None:
                self.sender.cancel()
                hub().close(self.box)

    async def connect(self) -> None:
        await self.accept()
        self.person = self.scope.get("user")
        if self.person is None or not self.person.is_authenticated:
            await self.send_json({"type": "refused", "run": None, "why": "Sign in to watch runs."})
            await self.close(NOT_SIGNED_IN)
            return
        self.box = hub().open()
        self.sender = asyncio.create_task(self._send_forever())

    async def receive(self, text_data: str | None = None, **_: Any) -> None:
        """Replaces what is watched."""
        if self.sender is None:
            return
        asked = _asked(text_data or "")
        if asked is None:
            why = f'Send {{"watch": {{"<run uid>": <cursor>}}}}, at most {MAX_RUNS} runs; a cursor is 0 or a batch id.'
            await self.send_json({"type": "error", "why": why})
            return
        async with self.turn:
            if await self._is_signed_in():
                await self._watch(asked)

    async def _watch(self, asked: Mapping[str, int]) -> None:
        ids = await _visible(self.person.pk, [uid for uid in asked if UID.fullmatch(uid)])
        self.watched = {uid: Watched(ids[uid], cursor) for uid, cursor in asked.items() if uid in ids}
        # The box is open before the database is read: what is committed in between is in both, and dropped once.
        self.box.runs = set(self.watched)
        self.box.lose(*self.watched)
        for uid in sorted(asked.keys() - ids.keys()):
            await self._refuse(uid)
        # From here on changes are told; those before, since the page was made, it has to look for.
        await self.send_json({"type": "watching"})

    async def _is_signed_in(self) -> bool:
        """Return whether the session still is the person's. Close the socket if not: its person has signed out or has a
        new password, or the session was somebody else's copy."""
        if await _holds(self.scope["session"].session_key, self.person.pk):
            return True
        self.watched, self.box.runs = {}, set()
        await self.close(SESSION_ENDED)
        return False

    async def _refuse(self, uid: str) -> None:
        uid = uid[:UID_AT_MOST]
        await self.send_json({"type": "refused", "run": uid, "why": f"There is no run {uid} that you may see."})

    async def _send_forever(self) -> None:
        """The one task that sends points. An error ends the socket; the page comes back with its cursor."""
        try:
            while True:
                mail = await self.box.take()
                async with self.turn:
                    await self._drop_forbidden()
                    await self._pass_on(mail)
                await asyncio.sleep(COALESCE_SECONDS)
        except OSError:
            return  # The page has gone, which ASGI servers say so; the socket's own end follows.
        except Exception:
            log.exception("A live socket broke and is closed")
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
        """Sends the points that follow the last batch sent, as one message; reads them where the news has a hole."""
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
        """Sends what the database holds after the cursor, in pieces; or says behind, where a refetch is cheaper."""
        watched = self.watched.get(uid)
        if watched is None:
            return
        is_far, newest = await _backlog(watched.run_id, watched.cursor)
        if is_far:
            watched.cursor = newest
            await self.send_json({"type": "behind", "run": uid, "cursor": newest})
        while batches := await _since(watched.run_id, watched.cursor):
            # After reading, so that nothing is sent that was written once the right had ended.
            await self._drop_forbidden()
            if uid not in self.watched:
                return
            merged: Points = {}
            for watched.cursor, points in batches:
                _extend(merged, points)
            await self._send_points(uid, watched.cursor, merged)

    async def _send_points(self, uid: str, cursor: int, points: Points) -> None:
        if points:
            await self.send_json({"type": "points", "run": uid, "cursor": cursor, "points": points})

    async def _drop_forbidden(self) -> None:
        """Asks again what the person may see, where the last answer is old: rights end while sockets live on."""
        if time.monotonic() - self.rights_checked_at <= ASK_AGAIN_SECONDS:
            return
        self.rights_checked_at = time.monotonic()
        if not await self._is_signed_in():
            return
        ids = await _visible(self.person.pk, list(self.watched))
        for uid in sorted(self.watched.keys() - ids.keys()):
            del self.watched[uid]
            self.box.runs.discard(uid)
            await self._refuse(uid)


def _asked(text: str) -> dict[str, int] | None:
    """run uid -> cursor, as a page may ask for it; None where it says something else."""
    try:
        content = loads(text)
    except ValueError:
        return None
    asked = content.get("watch") if isinstance(content, dict) else None
    if not isinstance(asked, dict) or len(asked) > MAX_RUNS:
        return None
    fits = all(type(cursor) is int and 0 <= cursor < 2**63 for cursor in asked.values())
    return asked if fits else None


def _extend(merged: Points, points: Points) -> None:
    for key, columns in points.items():
        into = merged.setdefault(key, {"step": [], "t": [], "value": []})
        for name, column in columns.items():
            into[name].extend(column)


@database_sync_to_async  # type: ignore[untyped-decorator]
def _holds(session_key: str | None, person_id: int) -> bool:
    """Return whether a session is stored, and is this person's by their present password."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    return get_user(request).pk == person_id


@database_sync_to_async  # type: ignore[untyped-decorator]
def _visible(person_id: int, uids: list[str]) -> dict[str, int]:
    """uid -> run id of those that the person may see now."""
    person = get_user_model().objects.filter(pk=person_id).first()
    return dict(Run.objects.visible_to(person).filter(uid__in=uids).values_list("uid", "pk")) if person else {}


@database_sync_to_async  # type: ignore[untyped-decorator]
def _since(run_id: int, cursor: int) -> list[tuple[int, Points]]:
    return [(batch, wire(points)) for batch, points in since(run_id, cursor)]


@database_sync_to_async  # type: ignore[untyped-decorator]
def _backlog(run_id: int, cursor: int) -> tuple[bool, int]:
    """(whether the page has missed too much to be told, or what is in chunks meanwhile; newest batch)."""
    newest = reading.newest(run_id)
    is_far = compacted(run_id) > cursor or backlog(run_id, cursor) > MAX_BACKLOG_BYTES
    return is_far, newest
