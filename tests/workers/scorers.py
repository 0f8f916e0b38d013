"""A scorer over real HTTP that scores as the embedded one until a test makes it misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest import approx

from tests.waiting import PATIENCE_SECONDS
from workers.config import SafetyOptions
from workers.engines.stop import Stop
from workers.scorer.client import Scores
from workers.scorer.embedded import EmbeddedScorer
from workers.tasks.safety import Safety
from workers.tasks.safety.scorer import Wait


def check_embedded_scores(scores: Sequence[Scores], prompts: Sequence[str], responses: Sequence[str]) -> None:
    """Check that another process scored as the embedded scorer does, but for rounding.

    The last bits of a matrix product depend on the kernel that OpenBLAS chooses, which the environment may set.
    """
    expected = EmbeddedScorer().score(prompts, responses)
    assert [(pair.reward, pair.cost) for pair in scores] == [
        (approx(pair.reward, rel=1e-5), approx(pair.cost, rel=1e-5)) for pair in expected
    ]


class Misbehaving(ThreadingHTTPServer):
    """`manners` are taken one a request: fine, a status such as 500, nan, few, slow or dead; the last one stays.

    Until `begins` returns true, every request is fine and takes no manner. Dead closes the connection without a word,
    and refuses those that come after.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, *manners: str, begins: Callable[[], bool] = lambda: True) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.manners = list(manners)
        self.begins = begins
        self.request_count = 0
        self.tokens: list[str | None] = []
        """The Authorization header of each request."""
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def die(self) -> None:
        """Stop serving, as if the process were killed."""
        self.shutdown()
        self.server_close()

    def next(self) -> str:
        """Return the manner of this request."""
        self.request_count += 1
        if not self.begins():
            return "fine"
        return self.manners.pop(0) if len(self.manners) > 1 else self.manners[0]


class Handler(BaseHTTPRequestHandler):
    server: Misbehaving

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        manner = self.server.next()
        self.server.tokens.append(self.headers["Authorization"])
        if manner == "dead":
            self.close_connection = True
            threading.Thread(target=self.server.die, daemon=True).start()
            return
        if manner == "slow":
            self.server.ended.wait(PATIENCE_SECONDS)
            return
        self.answer(int(manner) if manner.isdecimal() else 200, self.scores_for(manner, body))

    def scores_for(self, manner: str, body: dict[str, list[str]]) -> dict[str, Any]:
        scores = EmbeddedScorer().score(body["prompts"], body["responses"])
        rewards, costs = [s.reward for s in scores], [s.cost for s in scores]
        if manner == "nan":
            costs[-1] = float("nan")
        return {"rewards": rewards, "costs": costs[:-1] if manner == "few" else costs}

    def answer(self, code: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """Log nothing on the tests' stderr."""


@contextmanager
def scorer(*manners: str, begins: Callable[[], bool] = lambda: True) -> Iterator[Misbehaving]:
    """Serve while the block runs; yield the server."""
    with Misbehaving(*manners, begins=begins) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


class StopsAsItWaits(Safety):
    """The task, in a run that is stopped as soon as it has to wait for the scorer."""

    def __init__(self, options: SafetyOptions) -> None:
        super().__init__(options)
        self.stop = Stop()

    def waits_by(self, wait: Wait) -> None:
        def stopped(seconds: float, reason: str) -> None:
            self.stop.set()
            wait(seconds, reason)

        super().waits_by(stopped)
