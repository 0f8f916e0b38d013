"""Redis subscription, one per web process, and a bounded box for each of its sockets."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings

from runs.metrics.live.allowances import Allowances
from runs.metrics.live.publish import CHANGES, CHANNEL, News, news

log = logging.getLogger(__name__)

BOX_SIZE = 500
RETRY_SECONDS = 1.0


@dataclass
class Mail:
    """Content of a box: news in order, changes, and runs of which news was lost."""

    news: list[News] = field(default_factory=list)
    changed: list[tuple[str, str]] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)


class Box:
    """News for one socket. A full box drops its oldest news and remembers which run must be read from the database."""

    def __init__(self) -> None:
        self.runs: set[str] = set()
        self._news: deque[News] = deque()
        self._changed: dict[tuple[str, str], None] = {}
        self._lost: set[str] = set()
        self._ready = asyncio.Event()

    def put(self, news: News) -> None:
        """Add news of a watched run."""
        if news.changed:
            self._changed[news.run, news.changed] = None
        else:
            self._news.append(news)
            if len(self._news) > BOX_SIZE:
                self._lost.add(self._news.popleft().run)
        self._ready.set()

    def lose(self, *runs: str) -> None:
        """Record that batches of these runs may have been missed."""
        self._lost.update(runs)
        self._ready.set()

    def lose_all(self) -> None:
        """Record that any news of the watched runs may have been missed, including changes."""
        self._changed |= dict.fromkeys((run, change) for run in sorted(self.runs) for change in CHANGES)
        self.lose(*self.runs)

    async def take(self) -> Mail:
        """Wait until there is content, and empty the box."""
        await self._ready.wait()
        self._ready.clear()
        mail = Mail(list(self._news), list(self._changed), self._lost & self.runs)
        self._news.clear()
        self._changed.clear()
        self._lost.clear()
        return mail


class Hub:
    """Listener for news of all runs that puts them into the boxes of watching sockets. It belongs to one event loop."""

    def __init__(self, url: str) -> None:
        self.allowances = Allowances()
        self._url = url
        self._boxes: set[Box] = set()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> Box:
        """Return a box for a new socket. The first box starts the subscription."""
        box = Box()
        self._boxes.add(box)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen(), name="live hub")
        return box

    def close(self, box: Box) -> None:
        """Remove a socket's box. Removing the last box ends the subscription."""
        self._boxes.discard(box)
        if not self._boxes and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _listen(self) -> None:
        while True:
            try:
                async for message in _messages(self._url):
                    self._deliver(message)
            except (redis.RedisError, OSError) as error:
                log.warning("Live hub lost its Redis connection; retrying: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    def _deliver(self, message: dict[str, Any]) -> None:
        if message["type"] == "psubscribe":
            # This is a new subscription, the first one or another: earlier messages were not received.
            for box in self._boxes:
                box.lose_all()
        elif message["type"] == "pmessage":
            run = message["channel"].decode().removeprefix(CHANNEL)
            watching = [box for box in self._boxes if run in box.runs]
            if watching:
                item = news(run, message["data"])
                for box in watching:
                    box.put(item)


async def _messages(url: str) -> AsyncIterator[dict[str, Any]]:
    """Yield all messages, with one of type psubscribe after every connect, including redis-py's own reconnects."""
    # Its default of 5 s would end every quiet subscription; pings find a dead peer instead.
    client = redis.asyncio.Redis.from_url(
        url, socket_timeout=None, socket_connect_timeout=5.0, health_check_interval=15
    )
    async with client, client.pubsub() as subscription:
        await subscription.psubscribe(CHANNEL + "*")
        while True:
            message = await subscription.get_message(timeout=5.0)
            if message is not None:
                yield message


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(settings.REDIS_URL)
    return _hubs[loop]
