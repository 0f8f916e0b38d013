"""Open pages that watch runs through every fault: they reconnect from their last position, and check what arrives."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tests.flows.pushed_points import record_of

RECONNECT_SECONDS = 0.5
LOOK_SECONDS = 1.0


class Watcher:
    """A page that watches one run of tests/flows/writers.py. It checks that the records of `key` arrive in their order,
    each once."""

    def __init__(self, port: int, session: str, run: str, key: str) -> None:
        self.port, self.session, self.run, self.key = port, session, run, key
        self.cursor, self.next_record = 0, 0
        self.may_skip = False
        """Whether the site has said that the page is behind: it fetches its charts again then."""
        self.connections, self.skips = 0, 0
        self.problems: list[str] = []

    async def watch(self, stopped: asyncio.Event) -> None:
        """Stay connected until `stopped` is set."""
        while not stopped.is_set():
            try:
                async with self._connect() as socket:
                    self.connections += 1
                    await socket.send(json.dumps({"watch": {self.run: self.cursor}}))
                    await self._receive(socket, stopped)
            except (OSError, WebSocketException):
                await asyncio.sleep(RECONNECT_SECONDS)  # noqa: TID251  (a page waits before it reconnects)

    def _connect(self) -> connect:
        return connect(
            f"ws://127.0.0.1:{self.port}/ws/live",
            origin=f"http://127.0.0.1:{self.port}",
            additional_headers={"Cookie": f"sessionid={self.session}"},
            compression=None,
            max_size=None,
        )

    async def _receive(self, socket: ClientConnection, stopped: asyncio.Event) -> None:
        while not stopped.is_set():
            with suppress(TimeoutError):
                self.take(json.loads(await asyncio.wait_for(socket.recv(), LOOK_SECONDS)))

    def take(self, message: dict[str, Any]) -> None:
        """Handle a message of the site."""
        if message["type"] == "points":
            self._take_points(message["cursor"], message["points"].get(self.key, {"step": []})["step"])
        elif message["type"] == "behind":
            self.cursor, self.may_skip = message["cursor"], True
            self.skips += 1
        elif message["type"] in ("refused", "error"):
            self.problems.append(f"{self.run}: {message['why']}")

    def _take_points(self, cursor: int, steps: Sequence[int]) -> None:
        if cursor <= self.cursor:
            self.problems.append(f"{self.run}: cursor {cursor} after {self.cursor}")
        self.cursor = cursor
        records = [record_of(step) for step in steps]
        if self.may_skip and records:
            self.next_record, self.may_skip = max(self.next_record, records[0]), False
        expected = list(range(self.next_record, self.next_record + len(records)))
        if records != expected:
            self.problems.append(f"{self.run}: records {records[:3]} … came where {expected[:3]} … were due")
        self.next_record = max([self.next_record, *(record + 1 for record in records)])


class Watchers(threading.Thread):
    """A thread with all these pages in one event loop."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        super().__init__(daemon=True)
        self.watchers = watchers
        self._loop, self._stopped = asyncio.new_event_loop(), asyncio.Event()

    def run(self) -> None:
        self._loop.run_until_complete(self._watch())
        self._loop.close()

    def stop(self) -> None:
        """Close all pages and wait for their end."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self.join()

    def behind(self, records_by_run: dict[str, int]) -> list[str]:
        """Return the runs whose pages have not received all of that many records yet."""
        return [w.run for w in self.watchers if not w.may_skip and w.next_record < records_by_run[w.run]]

    def describe(self) -> str:
        """Return one line with the number of connections, and how often a page had to fetch its charts again."""
        counts = Counter(watcher.connections for watcher in self.watchers)
        total = sum(watcher.connections for watcher in self.watchers)
        return (
            f"{len(self.watchers)} pages connected {total} times, at most {max(counts)} each;"
            f" {sum(watcher.skips for watcher in self.watchers)} times one was behind"
        )

    async def _watch(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for watcher in self.watchers:
                tasks.create_task(watcher.watch(self._stopped))
