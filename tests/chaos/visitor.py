"""Somebody who goes on opening pages and calling the API whatever happens, and notes how each was answered."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.chaos.site_process import House
from tests.waiting import PATIENCE_SECONDS

PAUSE_SECONDS = 0.2
PROMISED_SECONDS = 5.0
LATE_SECONDS = 2 * PROMISED_SECONDS
"""A busy machine is forgiven as much again."""
HEALTH = "/healthz"
SIGN_IN = re.compile(r"within the hour: (http\S+)")


@dataclass(frozen=True)
class Visit:
    """One request. `status` is 0 where none came, `why` says what was wrong with the answer."""

    path: str
    began_at: float
    seconds: float
    status: int
    why: str = ""


@dataclass
class Visits:
    """All requests, and the times in which the web itself was down, frozen or starting."""

    made: list[Visit] = field(default_factory=list)
    down: list[tuple[float, float]] = field(default_factory=list)
    _down_since: float | None = None
    _up_again_at: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def web_is_down(self) -> Iterator[None]:
        """Excuse what was asked from now until the first answer to a request that was sent after the block."""
        with self._lock:
            self._down_since, self._up_again_at = self._down_since or time.monotonic(), None
        try:
            yield
        finally:
            with self._lock:
                self._up_again_at = time.monotonic()

    def add(self, visit: Visit) -> None:
        """Note it; an answer ends the time in which the web was down."""
        with self._lock:
            self.made.append(visit)
            if self._up_again_at is not None and visit.status and visit.began_at >= self._up_again_at:
                self.down.append((self._down_since or 0.0, visit.began_at + visit.seconds))
                self._down_since = self._up_again_at = None

    def bad(self) -> list[str]:
        """Return a sentence for each answer that was late, wrong or missing while the web was up."""
        return [
            f"{visit.path} was answered {visit.status} after {visit.seconds:.1f} s {visit.why}".strip()
            for visit in self.made
            if (visit.why or visit.seconds > LATE_SECONDS) and not self._is_excused(visit)
        ]

    def summary(self) -> str:
        """Return, in a line, how many were answered with what, and the slowest answers."""
        statuses = Counter(visit.status for visit in self.made)
        counts = ", ".join(f"{count} × {status or 'no answer'}" for status, count in sorted(statuses.items()))
        slowest = {down: max((v.seconds for v in self.made if self._is_excused(v) == down), default=0.0)
                   for down in (False, True)}  # fmt: skip
        late = sum(v.seconds > PROMISED_SECONDS and not self._is_excused(v) for v in self.made)
        return (
            f"{len(self.made)} requests: {counts}; slowest {slowest[False]:.2f} s, {late} over {PROMISED_SECONDS:g} s"
            f" (while the web itself was down {slowest[True]:.2f} s)"
        )

    def _is_excused(self, visit: Visit) -> bool:
        ends_at = visit.began_at + visit.seconds
        last = [(self._down_since, float("inf"))] if self._down_since is not None else []
        return any(visit.began_at <= end and ends_at >= start for start, end in [*self.down, *last])


class Visitor(threading.Thread):
    """Asks for one address again and again until it is stopped."""

    def __init__(self, house: House, visits: Visits, path: Callable[[], str], token: str = "") -> None:
        super().__init__(daemon=True)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.client = httpx.Client(base_url=house.address, headers=headers, timeout=PATIENCE_SECONDS)
        self.visits, self.path = visits, path
        self._over = threading.Event()

    def sign_in(self, console: str) -> None:
        """Open the link that `up` has printed."""
        (link, *_) = SIGN_IN.findall(console)
        assert self.client.get(link).status_code == 302, "the link did not sign in"

    def run(self) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            path, began = self.path(), time.monotonic()
            try:
                answer = self.client.get(path)
                status, why = answer.status_code, _fault(path, answer)
            except httpx.TransportError as error:
                status, why = 0, repr(error)
            self.visits.add(Visit(path, began, time.monotonic() - began, status, why))

    def stop(self) -> None:
        """Return once it has stopped."""
        self._over.set()
        self.join()
        self.client.close()


def _fault(path: str, answer: httpx.Response) -> str:
    """What is wrong with an answer: 200 and 503 with a Retry-After are good ones, and no traceback is shown."""
    if "Traceback" in answer.text:
        return "with a traceback"
    if answer.status_code == 503 and (path == HEALTH or "Retry-After" in answer.headers):
        return ""
    return "" if answer.status_code == 200 else f"saying {answer.text[:200]!r}"
