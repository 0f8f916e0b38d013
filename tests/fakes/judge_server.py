"""A judge's server, over real HTTP on loopback, that misbehaves as it is told."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

KEY = "sk-fake-5f2c9d"
ANSWERS = re.compile(r"<answer ([AB]) \w+>\n(.*?)\n</answer \1 \w+>", re.DOTALL)


@dataclass(frozen=True)
class Act:
    """What is done to one request. status 0 closes the connection without a word; seconds are waited first."""

    text: str | None = ""
    status: int = 200
    seconds: float = 0.0
    finish_reason: str = "stop"
    refusal: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20})
    body: bytes | None = None


@dataclass(frozen=True)
class Asked:
    """A request that came in: its fields, its headers, and the two answers as they were shown."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def answers(self) -> tuple[str, str]:
        found = dict(ANSWERS.findall(self.body["messages"][-1]["content"]))
        return found["A"], found["B"]


def verdict(a: float, b: float, says: str | None = None, **more: Any) -> str:
    """The text of a verdict as the schema has it."""
    said = says or ("tie" if a == b else "A" if a > b else "B")
    named = {"reasoning": "Because.", "score_a": a, "score_b": b, "verdict": said, "both_bad": False}
    return json.dumps(named | more)


def longer(asked: Asked) -> Act:
    """Prefers the longer answer, wherever it stands."""
    first, second = map(len, asked.answers)
    return Act(verdict(*((5, 5) if first == second else (8, 3) if first > second else (3, 8))))


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self.connected, self._lock = 0, threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._count(1)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self.connected += change

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of those who have gone: some tests kill them."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class JudgeServer:
    """Runs `act` on every request. `asked` holds those that came, in their order; `most_at_once` of them at a time."""

    def __init__(self, act: Callable[[Asked], Act] = longer, port: int = 0) -> None:
        self.act, self.asked, self.most_at_once = act, list[Asked](), 0
        self._at_once, self._lock, self._ended = 0, threading.Lock(), threading.Event()
        self._http = _Http(("127.0.0.1", port), self._handler())
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.die()

    @property
    def is_left_alone(self) -> bool:
        """True where nobody is connected, so that nothing more comes from those who were."""
        return not self._http.connected

    def die(self) -> None:
        """Nobody listens any more, and no answer is held back. Safe to do twice."""
        self._ended.set()
        self._http.shutdown()
        self._http.server_close()

    def _begin(self, body: dict[str, Any], headers: dict[str, str]) -> Asked:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.asked.append(Asked(len(self.asked), body, headers))
            return self.asked[-1]

    def _end(self) -> None:
        with self._lock:
            self._at_once -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body are two writes: the second would wait for the first to be acknowledged.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked = server._begin(body, {name.lower(): value for name, value in self.headers.items()})
                try:
                    act = server.act(asked)
                    server._ended.wait(act.seconds)
                finally:
                    server._end()
                if not act.status:
                    self.close_connection = True
                    return
                # Whoever asked may have gone.
                with suppress(OSError):
                    self._send(act)

            def _send(self, act: Act) -> None:
                content = act.body if act.body is not None else _completion(act)
                self.send_response(act.status)
                for name, value in {"content-type": "application/json", **act.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing on the console."""

        return Handler


def _completion(act: Act) -> bytes:
    if act.status != 200:
        return json.dumps({"error": {"message": f"this is status {act.status}"}}).encode()
    message = {"role": "assistant", "content": act.text, "refusal": act.refusal}
    choice = {"index": 0, "message": message, "finish_reason": act.finish_reason}
    said = {"id": "1", "object": "chat.completion", "created": 1, "model": "fake-1", "choices": [choice]}
    return json.dumps(said | ({"usage": act.usage} if act.usage else {})).encode()
