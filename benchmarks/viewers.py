"""Measure the seconds from a record written by a run to its points received by 200 open pages, over every record and
page.

    python -m benchmarks.viewers

The run writes its file as trainers do, `manage.py follow` reads it, one web server process publishes to all sockets.
Both ends are on this machine and read the same clock; opening the sockets and records from before they were open are
not counted. The goal is that of the slowest twentieth.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time

from websockets.asyncio.client import ClientConnection, connect

from benchmarks import results, servers
from benchmarks.closed_loop import percentile
from benchmarks.points import KEYS
from workers.records import Metric, RecordWriter

VIEWERS, RECORDS, EVERY_SECONDS = 200, 200, 0.1
USERS = 8
"""A user may have at most 50 pages open."""
GOAL_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
MAX_CONCURRENT_OPENS = 20


class Viewer:
    """One open page of one run: the delay of each step, from writing it to receiving it, by the clock in Unix
    seconds."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.seconds: dict[int, float] = {}

    async def see_all(self) -> None:
        """Return once every record has arrived. Raise TimeoutError."""
        while len(self.seconds) < RECORDS:
            message = json.loads(await asyncio.wait_for(self.socket.recv(), PATIENCE_SECONDS))
            now, points = time.time(), message.get("points", {}).get(KEYS[0], {"step": [], "t": []})
            self.seconds |= {step: now - t for step, t in zip(points["step"], points["t"], strict=True)}


async def watch(port: int, uid: str, browsers: list[dict[str, str]], write: threading.Thread) -> list[float]:
    """Open the pages in these browsers, make the run write, and return the delay of each record to each page."""
    gate = asyncio.Semaphore(MAX_CONCURRENT_OPENS)

    async def opened(headers: dict[str, str]) -> Viewer:
        async with gate:
            address, origin = f"ws://127.0.0.1:{port}/ws/live", f"http://127.0.0.1:{port}"
            socket = await connect(address, origin=origin, additional_headers=headers, compression=None)
            await socket.send(json.dumps({"watch": {uid: 0}}))
            return Viewer(socket)

    viewers = await asyncio.gather(*(opened(browsers[n % len(browsers)]) for n in range(VIEWERS)))
    write.start()
    await asyncio.gather(*(viewer.see_all() for viewer in viewers))
    await asyncio.gather(*(viewer.socket.close() for viewer in viewers))
    return [seconds for viewer in viewers for seconds in viewer.seconds.values()]


def write_steadily(records: RecordWriter) -> None:
    """Write ten keys a record, ten records a second."""
    for step in range(RECORDS):
        records.write(Metric(step, dict.fromkeys(KEYS, step / 7)))
        time.sleep(EVERY_SECONDS)


def measure(site: servers.Site, web: servers.Web) -> list[float]:
    """Return the seconds of each record to each page."""
    from runs.models import Attempt

    attempt = Attempt.objects.select_related("run").get(key=site.writer().key)
    browsers = [servers.browser_headers(f"viewer{n}") | {"Accept-Encoding": "identity"} for n in range(USERS)]
    with RecordWriter(attempt.directory, 0) as records:
        writing = threading.Thread(target=write_steadily, args=(records,))
        delays = asyncio.run(watch(web.port, attempt.run.uid, browsers, writing))
        writing.join()
    return delays


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site() as site, servers.web() as web, servers.follower():
        before = web.cpu_seconds()
        seconds = measure(site, web)
        spent = web.cpu_seconds() - before
    figure = f"{RECORDS} records to {VIEWERS} viewers"
    results.at_most(f"{figure}, p95", 1000 * percentile(seconds, 0.95), 1000 * GOAL_SECONDS, "ms")
    results.without_goal(f"{figure}, median", 1000 * percentile(seconds, 0.5), "ms")
    results.without_goal(f"{figure}, slowest", 1000 * max(seconds), "ms")
    results.without_goal(f"{figure}, the server's CPU", spent, "s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
