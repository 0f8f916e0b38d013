"""A scorer that says what a test has it say: a real server on a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Said:
    """One answer: status, body and headers. `after` seconds pass before it, `between` after each byte of it.

    A server that ends waits for neither.
    """

    body: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    between: float = 0.0


@dataclass
class Asked:
    """One request: its path, headers and what its JSON says."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Talking:
    """The server's address, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)


def lengths(asked: Asked) -> Said:
    """An honest answer: each reward is the response's length, each cost the prompt's."""
    rewards = [len(text) for text in asked.body["responses"]]
    return Said(json.dumps({"rewards": rewards, "costs": [len(text) for text in asked.body["prompts"]]}))


Answer = Said | Callable[[Asked], Said]


@contextmanager
def talking(*answers: Answer, port: int = 0) -> Iterator[Talking]:
    """Gives the answers in turn; the last one again and again."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            asked = Asked(self.path, dict(self.headers), json.loads(raw))
            server.asked.append(asked)
            answer = left.pop(0) if len(left) > 1 else left[0]
            _tell(self, answer if isinstance(answer, Said) else answer(asked), server.ended)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as listening:
        listening.daemon_threads = True
        listening.block_on_close = False
        server = Talking(f"http://127.0.0.1:{listening.server_port}")
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            listening.shutdown()
            thread.join()


def _tell(handler: BaseHTTPRequestHandler, said: Said, ended: threading.Event) -> None:
    ended.wait(said.after)
    handler.send_response(said.status)
    for name, value in {"Content-Length": str(len(said.body)), **said.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    try:
        for byte in said.body.encode() if said.between else ():
            handler.wfile.write(bytes([byte]))
            ended.wait(said.between)
        if not said.between:
            handler.wfile.write(said.body.encode())
    except (BrokenPipeError, ConnectionResetError):
        # The client has had enough, which is what the test is about.
        handler.close_connection = True
