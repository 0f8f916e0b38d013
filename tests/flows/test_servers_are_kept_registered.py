"""A server that knows nothing of esweb is found for as long as it answers, by a process around it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import create_server
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import access
from runs.models import Service
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import ENV

pytestmark = pytest.mark.django_db(transaction=True)
SERVER = """
import http.server, sys
class Says(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Says).serve_forever()
"""


@pytest.fixture
def port() -> int:
    return unused_port()


@pytest.fixture
def options(live_server: Any, tmp_path: Path, ada: User, port: int) -> list[str]:
    (tmp_path / "token").write_text(access.issue(ada, "serve")[1])
    return ["--site", live_server.url, "--token-file", str(tmp_path / "token"), "--kind", "vllm", "--name", "tiny",
            "--address", f"http://127.0.0.1:{port}"]  # fmt: skip


@pytest.fixture
def around(options: list[str]) -> Iterator[Any]:
    """Starts the process around a command, and ends what it has not ended itself."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "workers.client.serving", *options, "--", *command]
        started.append(subprocess.Popen(argv, env=ENV, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def test_it_is_found_once_it_answers_and_gone_when_it_is_told_to_end(around: Any, port: int) -> None:
    process = around(sys.executable, "-c", SERVER, str(port))
    address = f"http://127.0.0.1:{port}"
    wait_until(Service.objects.filter(kind="vllm", name="tiny", address=address).exists, "the server to be registered")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert not Service.objects.exists()


def test_a_server_that_never_answers_is_not_registered_and_its_exit_code_is_passed_on(around: Any) -> None:
    process = around(sys.executable, "-c", "raise SystemExit(7)")
    assert process.wait(timeout=PATIENCE_SECONDS) == 7
    assert not Service.objects.exists()


def test_where_the_site_refuses_it_says_why_and_leaves_no_server(around: Any, options: list[str], port: int) -> None:
    options[options.index("tiny")] = "not a name"
    process = around(sys.executable, "-c", SERVER, str(port))
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1 and "422" in said and "name" in said
    with create_server(("127.0.0.1", port)):
        """The port is free again: nothing serves there."""


def test_without_a_command_it_says_what_to_give(options: list[str]) -> None:
    argv = [sys.executable, "-m", "workers.client.serving", *options]
    ended = subprocess.run(argv, env=ENV, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (ended.returncode, "after -- the command" in ended.stderr) == (2, True)
