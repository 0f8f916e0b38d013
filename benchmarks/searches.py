"""Measure what slow searches of some users cost the pages of others.

    python -m benchmarks.searches

A user opens pages, one after another, over HTTP from one web server process, in turn alone and while others search the
responses of six models by regular expressions that take PostgreSQL longer than it lets them. Searches that are answered
*busy* are repeated after the time that Retry-After names, as browsers and scripts do. The goal is the ratio of the
slowest twentieth of the pages, with and without the others; the rounds follow each other, so that other work on the
machine falls on both.
"""

from __future__ import annotations

import http.client
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from benchmarks import results, servers, viewer
from benchmarks.closed_loop import get, percentile

READERS, CONNECTIONS = 50, 12
SLOW = "((t|a|r|i|m|o|n|e|l|k|v)+ ?)+[0-9]"
"""A regular expression for which PostgreSQL takes more than a second for each response."""
ROUNDS, PAGES, WARM_UP = 4, 20, 3
GOAL = 2.0
RETRIES_AT_MOST_SECONDS = 5.0


class Reader(threading.Thread):
    """A browser that repeats a search until `stop` is set, and counts the statuses of its answers."""

    def __init__(self, port: int, address: str, headers: dict[str, str], stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port, self.address, self.headers, self.stop = port, address, headers, stop
        self.statuses: Counter[int] = Counter()

    def run(self) -> None:
        """Search, and wait as long as the answer asks for."""
        while not self.stop.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            connection.request("GET", self.address, headers=self.headers)
            answer = connection.getresponse()
            answer.read()
            connection.close()
            self.statuses[answer.status] += 1
            self.stop.wait(min(RETRIES_AT_MOST_SECONDS, float(answer.headers.get("Retry-After", 0))))


@contextmanager
def searching(port: int, address: str, browsers: list[dict[str, str]]) -> Iterator[Counter[int]]:
    """Let each browser search while the block runs. Yield the number of answers by status, complete at its end."""
    stop, total = threading.Event(), Counter[int]()
    readers = [Reader(port, address, headers, stop) for headers in browsers]
    for reader in readers:
        reader.start()
    try:
        # Until the first of them have been stopped, and others have taken their turn.
        time.sleep(3.0)
        yield total
    finally:
        stop.set()
        for reader in readers:
            reader.join()
            total.update(reader.statuses)


def seconds_of_pages(port: int, addresses: list[str]) -> list[float]:
    """Return the seconds of each page, in turn, after some that warm up."""
    headers = servers.browser_headers()
    took = [get(port, addresses[n % len(addresses)], headers).seconds for n in range(PAGES + WARM_UP)]
    return took[WARM_UP:]


def measure(port: int, uids: list[str]) -> None:
    """Measure the pages beside many users who search once, and beside one user who searches many times."""
    from django.urls import reverse

    columns = urlencode([("run", uid) for uid in uids])
    pages = [reverse("home"), reverse("run", args=[uids[0]]), f"{reverse('compare')}?{columns}"]
    search = f"{reverse('viewer')}?{columns}&{urlencode({'q': SLOW, 'as': 'regex'})}"
    many = [servers.browser_headers(f"reader{n}") for n in range(READERS)]
    one = [servers.browser_headers("reader0")] * CONNECTIONS
    for who, browsers in ((f"{READERS} users who search", many), (f"{CONNECTIONS} searches of one user", one)):
        took_alone, took_beside, answers = list[float](), list[float](), Counter[int]()
        for _ in range(ROUNDS):
            took_alone += seconds_of_pages(port, pages)
            with searching(port, search, browsers) as statuses:
                took_beside += seconds_of_pages(port, pages)
            answers.update(statuses)
        print(f"  answers to {who}: {dict(answers)}")
        report(who, took_alone, took_beside)


def report(who: str, took_alone: list[float], took_beside: list[float]) -> None:
    """Record the figures of the pages, alone and beside those who search."""
    alone, beside = (1000 * percentile(took, 0.95) for took in (took_alone, took_beside))
    results.without_goal(f"pages before {who}, p95", alone, "ms")
    results.without_goal(f"pages beside {who}, p95", beside, "ms", ratio=beside / alone, peer="alone")
    results.at_most(f"slowdown by {who}", beside / alone, GOAL, "x")


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site(), servers.web() as web:
        uids = viewer.import_models()
        servers.settle()
        measure(web.port, uids)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
