"""A token goes to one address: no redirect takes it elsewhere, and no error repeats it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.bearer import BadToken, read_token
from workers.client.push import Pusher
from workers.client.push import Refused as PushRefused
from workers.client.registry import Refused, Site
from workers.config import TrackingConfig
from workers.executors.base import Unreachable
from workers.executors.ray.jobs import Jobs
from workers.records import RecordWriter, Status
from workers.scorer.client import ScorerClient, ScorerRefused

TOKEN = "a-token-that-nobody-repeats"
WRONG_FILES = ("", "two\nlines", "root:x:0:0:root:/root:/bin/bash\nbin:x:1", "with space", "caf\u00e9", "x" * 5000)


class Recorder(ThreadingHTTPServer):
    """Answer every request with one status, and with the request's headers as the body. `seen` are Authorizations."""

    daemon_threads = True

    def __init__(self, status: int, location: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.status, self.location = status, location
        self.seen: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    server: Recorder

    def _answer(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.seen.append(self.headers["Authorization"])
        body = str(self.headers).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def recorder(status: int, location: str = "") -> Iterator[Recorder]:
    with Recorder(status, location) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def push(url: str, file: Path) -> None:
    directory = file.parent / "esweb-run-a1"
    with RecordWriter(directory, 0) as records:
        records.write(Status("loading"))
    Pusher(TrackingConfig(push_url=url, token_file=str(file)), directory, 0).send()


def call_site(url: str, file: Path) -> None:
    Site(url, file).call("GET", "/services")


def score(url: str, file: Path) -> None:
    ScorerClient(url, token_file=file, tries=1).score(["a"], ["b"])


def list_jobs(url: str, file: Path) -> None:
    Jobs(url, str(file)).all()


CALLS = each_case("call", [push, call_site, score, list_jobs], ids=["push", "registry", "scorer", "ray"])
REFUSALS = (Refused, PushRefused, ScorerRefused, Unreachable)


@CALLS
@each_case("status", [301, 302, 303, 307, 308])
def test_token_follows_no_redirect(call: Callable[[str, Path], None], status: int, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    with (
        recorder(200) as other,
        recorder(status, f"{other.url}/api/v1/services") as first,
        pytest.raises(REFUSALS, match=str(status)),
    ):
        call(first.url, tmp_path / "token")
    assert first.seen == [f"Bearer {TOKEN}"] and other.seen == []


@CALLS
def test_error_repeats_no_token_that_the_server_repeats(call: Callable[[str, Path], None], tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    with recorder(403) as server, pytest.raises(REFUSALS) as error:
        call(server.url, tmp_path / "token")
    assert server.seen == [f"Bearer {TOKEN}"] and TOKEN not in str(error.value)


@CALLS
@each_case("text", WRONG_FILES, ids=range(len(WRONG_FILES)))
def test_file_that_is_no_token_is_neither_sent_nor_repeated(
    call: Callable[[str, Path], None], text: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")
    with recorder(200) as server, pytest.raises(REFUSALS, match="contains no token") as error:
        call(server.url, file)
    assert server.seen == [] and not (text and text in str(error.value))


def test_read_token_strips_the_end_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert read_token(tmp_path / "token") == TOKEN
    with pytest.raises(BadToken):
        read_token(Path("/dev/null"))
