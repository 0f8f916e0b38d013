"""A scorer that sends scripted replies: a real server on a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ScriptedReply:
    """A reply: status, body and headers. `after` seconds pass before it, `between` after each byte of it.

    A server that ends waits for neither.
    """

    body: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    between: float = 0.0


@dataclass
class ScorerRequest:
    """A request: its path, headers and parsed JSON."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ScriptedServer:
    """The server's address and the requests that it received."""

    url: str
    requests: list[ScorerRequest] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)


def lengths(request: ScorerRequest) -> ScriptedReply:
    """Return an honest reply: each reward is the response's length, each cost the prompt's."""
    rewards = [len(text) for text in request.body["responses"]]
    return ScriptedReply(json.dumps({"rewards": rewards, "costs": [len(text) for text in request.body["prompts"]]}))


Answer = ScriptedReply | Callable[[ScorerRequest], ScriptedReply]


@contextmanager
def scripted_scorer(*answers: Answer, port: int = 0) -> Iterator[ScriptedServer]:
    """Serve the replies in turn; repeat the last one."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            request = ScorerRequest(self.path, dict(self.headers), json.loads(raw))
            server.requests.append(request)
            answer = left.pop(0) if len(left) > 1 else left[0]
            _send(self, answer if isinstance(answer, ScriptedReply) else answer(request), server.ended)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as listening:
        listening.daemon_threads = True
        listening.block_on_close = False
        server = ScriptedServer(f"http://127.0.0.1:{listening.server_port}")
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            listening.shutdown()
            thread.join()


def _send(handler: BaseHTTPRequestHandler, reply: ScriptedReply, ended: threading.Event) -> None:
    ended.wait(reply.after)
    handler.send_response(reply.status)
    for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    try:
        for byte in reply.body.encode() if reply.between else ():
            handler.wfile.write(bytes([byte]))
            ended.wait(reply.between)
        if not reply.between:
            handler.wfile.write(reply.body.encode())
    except (BrokenPipeError, ConnectionResetError):
        # The client has had enough, which is what the test is about.
        handler.close_connection = True
