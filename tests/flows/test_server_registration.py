"""A process around a server that knows nothing of esweb registers it for as long as it answers."""

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
def start_process(options: list[str]) -> Iterator[Any]:
    """Yield a function that starts the process around a command. Processes that still run are ended afterwards."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "workers.client.serving", *options, "--", *command]
        started.append(subprocess.Popen(argv, env=ENV, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def test_server_is_registered_until_terminated(start_process: Any, port: int) -> None:
    process = start_process(sys.executable, "-c", SERVER, str(port))
    address = f"http://127.0.0.1:{port}"
    wait_until(Service.objects.filter(kind="vllm", name="tiny", address=address).exists, "the server to be registered")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert not Service.objects.exists()


def test_failed_server_is_not_registered(start_process: Any) -> None:
    process = start_process(sys.executable, "-c", "raise SystemExit(7)")
    assert process.wait(timeout=PATIENCE_SECONDS) == 7
    assert not Service.objects.exists()


def test_refused_registration_ends_server_with_reason(start_process: Any, options: list[str], port: int) -> None:
    options[options.index("tiny")] = "not a name"
    process = start_process(sys.executable, "-c", SERVER, str(port))
    _, error = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1 and "422" in error and "name" in error
    with create_server(("127.0.0.1", port)):
        """The port is free again: no server runs there."""


def test_missing_command_is_reported(options: list[str]) -> None:
    argv = [sys.executable, "-m", "workers.client.serving", *options]
    result = subprocess.run(argv, env=ENV, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (result.returncode, "the command of the server after --" in result.stderr) == (2, True)
