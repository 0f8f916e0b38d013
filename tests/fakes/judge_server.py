"""A judge's server, over real HTTP on loopback, whose replies and faults a test sets."""

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
class Reply:
    """The reply to one request. Status 0 closes the connection without a reply; `seconds` are waited first."""

    text: str | None = ""
    status: int = 200
    seconds: float = 0.0
    finish_reason: str = "stop"
    refusal: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20})
    body: bytes | None = None


@dataclass(frozen=True)
class JudgeRequest:
    """A request that came in: its fields, its headers, and the two responses as the judge saw them."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def answers(self) -> tuple[str, str]:
        texts = dict(ANSWERS.findall(self.body["messages"][-1]["content"]))
        return texts["A"], texts["B"]


def verdict(a: float, b: float, verdict_text: str | None = None, **fields: Any) -> str:
    """Return the text of a verdict as the schema requires it."""
    winner = verdict_text or ("tie" if a == b else "A" if a > b else "B")
    content = {"reasoning": "Because.", "score_a": a, "score_b": b, "verdict": winner, "both_bad": False}
    return json.dumps(content | fields)


def prefer_longer(request: JudgeRequest) -> Reply:
    """Prefer the longer response in either position."""
    first, second = map(len, request.answers)
    return Reply(verdict(*((5, 5) if first == second else (8, 3) if first > second else (3, 8))))


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
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
        """Ignore disconnected clients: some tests kill them."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class JudgeServer:
    """A server that sends `reply_to(request)`.

    `requests` holds all requests in order; `max_concurrent` is the largest number of concurrent ones.
    """

    def __init__(self, reply_to: Callable[[JudgeRequest], Reply] = prefer_longer, port: int = 0) -> None:
        self.reply_to, self.requests, self.max_concurrent = reply_to, list[JudgeRequest](), 0
        self._concurrent, self._lock, self._stopped = 0, threading.Lock(), threading.Event()
        self._http = _Http(("127.0.0.1", port), self._handler())
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()

    @property
    def has_no_connections(self) -> bool:
        """Return whether nobody is connected, so that no more requests come from earlier clients."""
        return not self._http.connected

    def stop(self) -> None:
        """Stop listening, and send delayed replies now. May be called twice."""
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()

    def _begin(self, body: dict[str, Any], headers: dict[str, str]) -> JudgeRequest:
        with self._lock:
            self._concurrent += 1
            self.max_concurrent = max(self.max_concurrent, self._concurrent)
            self.requests.append(JudgeRequest(len(self.requests), body, headers))
            return self.requests[-1]

    def _end(self) -> None:
        with self._lock:
            self._concurrent -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body are two writes: the second would wait for the first to be acknowledged.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                judge_request = server._begin(body, {name.lower(): value for name, value in self.headers.items()})
                try:
                    reply = server.reply_to(judge_request)
                    server._stopped.wait(reply.seconds)
                finally:
                    server._end()
                if not reply.status:
                    self.close_connection = True
                    return
                # The client may have disconnected.
                with suppress(OSError):
                    self._send(reply)

            def _send(self, act: Reply) -> None:
                content = act.body if act.body is not None else _completion(act)
                self.send_response(act.status)
                for name, value in {"content-type": "application/json", **act.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing."""

        return Handler


def _completion(reply: Reply) -> bytes:
    if reply.status != 200:
        return json.dumps({"error": {"message": f"this is status {reply.status}"}}).encode()
    message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    completion = {"id": "1", "object": "chat.completion", "created": 1, "model": "fake-1", "choices": [choice]}
    return json.dumps(completion | ({"usage": reply.usage} if reply.usage else {})).encode()
