"""Calls of the command line: repeated if lost, without the token to another server, and not too often."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from esweb_client.cli import server as calling
from esweb_client.cli.account import Account, check_url, is_unencrypted
from esweb_client.cli.errors import AWAY, Failure
from esweb_client.cli.server import Server


class ScriptedHandler(BaseHTTPRequestHandler):
    """A handler that sends the replies of `script`, call after call, and stores requests in `requests`."""

    script: ClassVar[list[tuple[int, dict[str, str], str]]] = []
    requests: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.requests.append((self.path, dict(self.headers)))
        status, headers, body = self.script.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def scripted_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Yield a client of a server on loopback that sends the replies of `ScriptedHandler.script`."""
    monkeypatch.setattr(calling.time, "sleep", lambda seconds: None)
    ScriptedHandler.script, ScriptedHandler.requests = [], []
    with HTTPServer(("127.0.0.1", 0), ScriptedHandler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever, args=(0.01,))
        thread.start()
        yield Server(Account(f"http://127.0.0.1:{http_server.server_port}", "esw_secret"))
        http_server.shutdown()
        thread.join()


def test_failed_call_is_repeated_with_same_key(scripted_server: Server) -> None:
    ScriptedHandler.script = [(503, {}, ""), (429, {"Retry-After": "1"}, ""), (201, {}, '{"uid": "a"}')]
    assert scripted_server.post("runs", {"seed": 1}) == {"uid": "a"}
    assert len({headers["Idempotency-Key"] for _, headers in ScriptedHandler.requests}) == 1
    assert len(ScriptedHandler.requests) == 3


def test_redirect_is_not_followed_with_token(scripted_server: Server) -> None:
    ScriptedHandler.script = [(302, {"Location": f"{scripted_server.account.url}/elsewhere"}, "")]
    with pytest.raises(Failure, match="is this an esweb server"):
        scripted_server.get("runs")
    assert len(ScriptedHandler.requests) == 1


def test_unchanged_response_comes_from_cache(scripted_server: Server) -> None:
    ScriptedHandler.script = [(200, {"ETag": '"v1"'}, '{"a": 1}'), (304, {}, ""), (200, {"ETag": '"v2"'}, '{"a": 2}')]
    assert [scripted_server.get("runs/x") for _ in range(3)] == [{"a": 1}, {"a": 1}, {"a": 2}]
    assert [headers.get("If-None-Match") for _, headers in ScriptedHandler.requests] == [None, '"v1"', '"v1"']


def test_pages_are_fetched_up_to_limit(scripted_server: Server) -> None:
    ScriptedHandler.script = [
        (200, {}, json.dumps({"items": [1, 2], "next": 7})),
        (200, {}, json.dumps({"items": [3], "next": 8})),
    ]
    assert list(scripted_server.pages("runs", {"state": None, "tag": "a b"}, limit=3)) == [1, 2, 3]
    assert [path for path, _ in ScriptedHandler.requests] == [
        "/api/v1/runs?tag=a+b&limit=3",
        "/api/v1/runs?tag=a+b&cursor=7&limit=1",
    ]


def test_other_server_is_reported_as_away(scripted_server: Server) -> None:
    ScriptedHandler.script = [(200, {}, "<html>")] * 3
    with pytest.raises(Failure) as caught:
        scripted_server.get("runs")
    assert caught.value.code == AWAY


def test_unreachable_server_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling.time, "sleep", lambda seconds: None)
    with pytest.raises(Failure, match="does not answer") as caught:
        Server(Account("http://127.0.0.1:1", "esw_x")).get("runs")
    assert caught.value.code == AWAY


@pytest.mark.parametrize(
    "url", ["", "esweb.example", "ftp://esweb.example", "https://", "https://a/?b=c", "file:///etc/passwd"]
)
def test_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(Failure, match=r"must be a URL such as https://esweb\.example"):
        check_url(url)


def test_unencrypted_urls_are_detected() -> None:
    unencrypted = ["http://esweb.example", "http://10.0.0.1:8000"]
    encrypted = ["https://esweb.example", "http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]:8000"]
    assert [url for url in unencrypted + encrypted if is_unencrypted(url)] == unencrypted
