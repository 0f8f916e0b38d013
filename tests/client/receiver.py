"""A small server of external runs over real HTTP, with the rules of the API and faults that a test injects.

It stands in for a server that is busy, slow, broken or away, at moments that a test chooses.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.waiting import wait_until

TOKEN = "esw_report_token_of_a_test"
Reply = tuple[int, dict[str, Any], dict[str, str]]
DROP = (0, {}, {})
"""A reply that is none: the connection is closed without a response."""


@dataclass
class AttemptStore:
    """Records of one attempt by seq, and what the program reported."""

    key: str
    start: str
    records: list[dict[str, Any]] = field(default_factory=list)
    heartbeats: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] | None = None
    ends: int = 0

    def push(self, records: list[dict[str, Any]]) -> Reply:
        """Store the records that are new, by the server's rules."""
        before = len(self.records)
        for record in records:
            if record["seq"] > len(self.records):
                return 409, {"detail": "a gap", "expected": len(self.records)}, {}
            if record["seq"] == len(self.records):
                self.records.append(record)
        return 200, {"kept": len(self.records) - before, "next_seq": len(self.records)}, {}

    @property
    def alerts(self) -> list[tuple[str, str]]:
        """Return level and message of each alert, in their order."""
        return [(r["level"], r["message"]) for r in self.records if r["kind"] == "alert"]

    def values(self, key: str) -> list[float]:
        """Return the values of a metric, in the order of the records."""
        return [r["values"][key] for r in self.records if r["kind"] == "metric" and key in r["values"]]


class Receiver:
    """Runs by the programs' ids, and the requests that arrived. `fault` may reply in the server's place."""

    def __init__(self) -> None:
        self.registrations: list[dict[str, Any]] = []
        self.requests: list[tuple[str, bytes]] = []
        self.attempts: dict[str, AttemptStore] = {}
        self.tokens: dict[str, str] = {}
        self.lock = threading.Lock()
        self.before: Callable[[str, bytes], Reply | None] = lambda path, body: None
        self.after: Callable[[str, Reply], Reply] = lambda path, reply: reply
        self.url = ""
        self.connections = 0
        self.hangs_up = False
        """Whether connections are closed after each response, without a word, as a server does with idle ones."""

    @property
    def attempt(self) -> AttemptStore:
        """The only attempt."""
        (attempt,) = self.attempts.values()
        return attempt

    def wait_for_end(self, count: int = 1) -> None:
        """Wait until so many attempts have ended."""
        wait_until(lambda: sum(a.end is not None for a in self.attempts.values()) >= count, "the end of attempts")

    def respond(self, path: str, body: bytes, token: str) -> Reply:
        """Return the reply to a POST."""
        if (fault := self.before(path, body)) is not None:
            return fault
        with self.lock:
            self.requests.append((path, body))
            reply = self._respond(path, body, token)
        return self.after(path, reply)

    def _respond(self, path: str, body: bytes, token: str) -> Reply:
        parts = path.partition("?")[0].removeprefix("/api/v1/").split("/")
        if parts == ["runs"]:
            return self._register(json.loads(body)) if token == TOKEN else (401, {"detail": "unknown token"}, {})
        _, key, action = parts
        if self.tokens.get(token) != key:
            return 401, {"detail": "unknown token"}, {}
        attempt = self.attempts[key]
        if action == "records":
            return attempt.push(read_records(body))
        if action == "heartbeat":
            attempt.heartbeats.append(json.loads(body))
            return 200, {"state": "running", "lost_after_seconds": 300}, {}
        # The first report counts.
        attempt.end, attempt.ends = attempt.end or json.loads(body), attempt.ends + 1
        return 200, {"state": attempt.end["state"]}, {}

    def _register(self, request: dict[str, Any]) -> Reply:
        self.registrations.append(request)
        uids = list(dict.fromkeys(known["id"] for known in self.registrations))
        uid = f"run{uids.index(request['id'])}"
        same_run = [a for a in self.attempts.values() if a.key.startswith(f"esweb-{uid}-")]
        attempt = next((a for a in same_run if a.start == request["start"]), None)
        if attempt is None:
            attempt = AttemptStore(f"esweb-{uid}-a{len(same_run) + 1}", request["start"])
            self.attempts[attempt.key] = attempt
        token = f"esw_ingest_{len(self.tokens)}"
        self.tokens[token] = attempt.key
        return 201, {"uid": uid, "url": f"/runs/{uid}/", "attempt": attempt.key, "token": token}, {}


def read_records(body: bytes) -> list[dict[str, Any]]:
    """Return the records of a push of lines or columns."""
    if body.endswith(b"\n"):
        return [json.loads(line) for line in body.splitlines()]
    columns = json.loads(body)
    return [
        {
            "seq": columns["seq"] + row,
            "t": columns["t"][row],
            "kind": "metric",
            "step": columns["step"][row],
            "values": {key: cells[row] for key, cells in columns["values"].items() if cells[row] is not None},
        }
        for row in range(len(columns["step"]))
    ]


@contextmanager
def running_receiver(port: int = 0, receiver: Receiver | None = None) -> Iterator[Receiver]:
    """Serve a receiver on this machine while the block runs."""
    receiver = receiver or Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            receiver.connections += 1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            # A proxy gets the whole address.
            path = self.path.removeprefix("http://esweb.invalid")
            status, content, headers = receiver.respond(path, body, token)
            if status:
                self._reply(status, json.dumps(content).encode(), headers)
            if receiver.hangs_up or not status:
                self.close_connection = True

        def _reply(self, status: int, data: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Print nothing if a client was killed during a request."""

    with Server(("127.0.0.1", port), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
