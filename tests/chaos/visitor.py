"""A visitor that keeps opening pages and calling the API during faults, and records each response."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests import soak_plugin
from tests.chaos.supervisor import Supervisor
from tests.waiting import PATIENCE_SECONDS

PAUSE_SECONDS = 0.2 if soak_plugin.SECONDS else 1.0
PROMISED_SECONDS = 5.0
LATE_SECONDS = 2 * PROMISED_SECONDS
"""The limit on a busy machine."""
HEALTH = "/healthz"
SIGN_IN = re.compile(r"within one hour: (http\S+)")


@dataclass(frozen=True)
class Visit:
    """One request. `status` is 0 if no response came; `problem` says what was wrong with the response."""

    path: str
    began_at: float
    seconds: float
    status: int
    problem: str = ""


@dataclass
class Visits:
    """All requests, and the times in which the web process was down, frozen or starting."""

    requests: list[Visit] = field(default_factory=list)
    down: list[tuple[float, float]] = field(default_factory=list)
    _down_since: float | None = None
    _up_again_at: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def web_is_down(self) -> Iterator[None]:
        """Excuse requests from now until the first response to a request that was sent after the block."""
        with self._lock:
            self._down_since, self._up_again_at = self._down_since or time.monotonic(), None
        try:
            yield
        finally:
            with self._lock:
                self._up_again_at = time.monotonic()

    def add(self, visit: Visit) -> None:
        """Record a visit; a response ends the time in which the web was down."""
        with self._lock:
            self.requests.append(visit)
            if self._up_again_at is not None and visit.status and visit.began_at >= self._up_again_at:
                self.down.append((self._down_since or 0.0, visit.began_at + visit.seconds))
                self._down_since = self._up_again_at = None

    def find_problems(self) -> list[str]:
        """Return a sentence for each response that was late, wrong or missing while the web was up."""
        return [
            f"{visit.path} was answered {visit.status} after {visit.seconds:.1f} s {visit.problem}".strip()
            for visit in self.requests
            if (visit.problem or visit.seconds > LATE_SECONDS) and not self._is_excused(visit)
        ]

    def describe(self) -> str:
        """Return one line with the number of responses by status, and the slowest ones."""
        statuses = Counter(visit.status for visit in self.requests)
        counts = ", ".join(f"{count} × {status or 'no answer'}" for status, count in sorted(statuses.items()))
        slowest = {down: max((v.seconds for v in self.requests if self._is_excused(v) == down), default=0.0)
                   for down in (False, True)}  # fmt: skip
        late = sum(v.seconds > PROMISED_SECONDS and not self._is_excused(v) for v in self.requests)
        return (
            f"{len(self.requests)} requests: {counts};"
            f" slowest {slowest[False]:.2f} s, {late} over {PROMISED_SECONDS:g} s"
            f" (while the web itself was down {slowest[True]:.2f} s)"
        )

    def _is_excused(self, visit: Visit) -> bool:
        ends_at = visit.began_at + visit.seconds
        open_intervals = [(self._down_since, float("inf"))] if self._down_since is not None else []
        return any(visit.began_at <= end and ends_at >= start for start, end in [*self.down, *open_intervals])


class Visitor(threading.Thread):
    """A thread that sends requests to addresses, one after another, until it is stopped."""

    def __init__(self, supervisor: Supervisor, visits: Visits, path: Callable[[], str], token: str = "") -> None:
        super().__init__(daemon=True)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.client = httpx.Client(base_url=supervisor.address, headers=headers, timeout=PATIENCE_SECONDS)
        self.visits, self.path = visits, path
        self._stop_requested = threading.Event()

    def sign_in(self, console: str) -> None:
        """Open the sign-in link that `up` has printed."""
        (link, *_) = SIGN_IN.findall(console)
        assert self.client.get(link).status_code == 302, "the link did not sign in"

    def run(self) -> None:
        while not self._stop_requested.wait(PAUSE_SECONDS):
            path, began_at = self.path(), time.monotonic()
            try:
                response = self.client.get(path)
                status, problem = response.status_code, _find_problem(path, response)
            except httpx.TransportError as error:
                status, problem = 0, repr(error)
            self.visits.add(Visit(path, began_at, time.monotonic() - began_at, status, problem))

    def stop(self) -> None:
        """Stop the thread and wait for its end."""
        self._stop_requested.set()
        self.join()
        self.client.close()


def _find_problem(path: str, response: httpx.Response) -> str:
    """Return what is wrong with a response; empty for 200, or 503 with Retry-After, without a traceback."""
    if "Traceback" in response.text:
        return "with a traceback"
    if response.status_code == 503 and (path == HEALTH or "Retry-After" in response.headers):
        return ""
    return "" if response.status_code == 200 else f"saying {response.text[:200]!r}"
