"""How calls are made: lost ones again, a token never to another server, and nobody asked too often."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from esweb.cli import server as calling
from esweb.cli.account import Account, checked, is_overheard
from esweb.cli.errors import AWAY, Failure
from esweb.cli.server import Server


class Odd(BaseHTTPRequestHandler):
    """Answers what `script` says, call after call, and remembers what it was asked."""

    script: ClassVar[list[tuple[int, dict[str, str], str]]] = []
    asked: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.path, dict(self.headers)))
        status, headers, body = self.script.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server on loopback that answers as it is told."""
    monkeypatch.setattr(calling.time, "sleep", lambda seconds: None)
    Odd.script, Odd.asked = [], []
    with HTTPServer(("127.0.0.1", 0), Odd) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield Server(Account(f"http://127.0.0.1:{listening.server_port}", "esw_secret"))
        listening.shutdown()
        thread.join()


def test_a_lost_call_is_sent_again_with_the_same_key(odd: Server) -> None:
    Odd.script = [(503, {}, ""), (429, {"Retry-After": "1"}, ""), (201, {}, '{"uid": "a"}')]
    assert odd.post("runs", {"seed": 1}) == {"uid": "a"}
    assert len({headers["Idempotency-Key"] for _, headers in Odd.asked}) == 1
    assert len(Odd.asked) == 3


def test_a_redirect_does_not_carry_the_token_away(odd: Server) -> None:
    Odd.script = [(302, {"Location": f"{odd.account.url}/elsewhere"}, "")]
    with pytest.raises(Failure, match="is this an esweb server"):
        odd.get("runs")
    assert len(Odd.asked) == 1


def test_what_has_not_changed_is_not_sent_again(odd: Server) -> None:
    Odd.script = [(200, {"ETag": '"v1"'}, '{"a": 1}'), (304, {}, ""), (200, {"ETag": '"v2"'}, '{"a": 2}')]
    assert [odd.get("runs/x") for _ in range(3)] == [{"a": 1}, {"a": 1}, {"a": 2}]
    assert [headers.get("If-None-Match") for _, headers in Odd.asked] == [None, '"v1"', '"v1"']


def test_pages_follow_one_another_up_to_what_is_asked(odd: Server) -> None:
    Odd.script = [(200, {}, json.dumps({"items": [1, 2], "next": 7})), (200, {}, json.dumps({"items": [3], "next": 8}))]
    assert list(odd.pages("runs", {"state": None, "tag": "a b"}, most=3)) == [1, 2, 3]
    assert [path for path, _ in Odd.asked] == ["/api/v1/runs?tag=a+b&limit=3", "/api/v1/runs?tag=a+b&cursor=7&limit=1"]


def test_what_is_no_esweb_server_is_said_so(odd: Server) -> None:
    Odd.script = [(200, {}, "<html>")] * 3
    with pytest.raises(Failure) as caught:
        odd.get("runs")
    assert caught.value.code == AWAY


def test_a_server_that_is_away_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling.time, "sleep", lambda seconds: None)
    with pytest.raises(Failure, match="does not answer") as caught:
        Server(Account("http://127.0.0.1:1", "esw_x")).get("runs")
    assert caught.value.code == AWAY


@pytest.mark.parametrize(
    "url", ["", "esweb.example", "ftp://esweb.example", "https://", "https://a/?b=c", "file:///etc/passwd"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Failure, match=r"must look like https://esweb\.example"):
        checked(url)


def test_a_token_that_others_could_overhear_is_warned_of() -> None:
    loud = ["http://esweb.example", "http://10.0.0.1:8000"]
    quiet = ["https://esweb.example", "http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]:8000"]
    assert [url for url in loud + quiet if is_overheard(url)] == loud
