"""`esweb logs`: the whole log, its last lines, and its growth until the run ends, also past a restart of the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest

from esweb_client.cli.errors import BAD_INPUT, ENDED_BADLY, NOT_FOUND
from runs.models import Attempt, Run
from tests.cli.conftest import RunCli
from tests.cli.run_files import write_log
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import end
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("runs_dir")


@contextmanager
def following(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that follows a log."""
    command = [sys.executable, "-m", "esweb_client.cli", "logs", *arguments, "-f", "--every", "0.1"]
    environment = {**os.environ, **environment}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def next_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(count)]


def test_whole_log_and_last_lines_are_printed_without_escapes(run_cli: RunCli, run: Run) -> None:
    write_log(run, "".join(f"\x1b[31mline {n}\x1b[0m\n" for n in range(1, 1202)) + " 10 %\r 90 %")
    code, out, _ = run_cli("logs", run.uid)
    lines = out.splitlines()
    assert (code, len(lines), lines[0], lines[-2:]) == (0, 1202, "line 1", ["line 1201", " 90 %"])
    assert run_cli("logs", run.uid, "-n", "2")[1].splitlines() == ["line 1200", "line 1201", " 90 %"]
    assert run_cli("logs", run.uid, "-n", "700")[1].splitlines() == lines[-701:]
    assert run_cli("logs", run.uid, "--lines", "0")[1].splitlines() == [" 90 %"]
    assert json.loads(run_cli("logs", run.uid, "-n", "1", "--json")[1].splitlines()[0]) == {
        "attempt": 1, "line": "line 1201",
    }  # fmt: skip


def test_attempt_is_selected_by_its_number(run_cli: RunCli, run: Run) -> None:
    write_log(run, "first\n")
    end(run)
    make_attempt(run, 2)
    write_log(run, "second\n", n=2)
    assert run_cli("logs", run.uid)[1] == "second\n"
    assert run_cli("logs", run.uid, "--attempt", "1")[1] == "first\n"
    code, _, err = run_cli("logs", run.uid, "--attempt", "3")
    assert (code, "--attempt must be one of 1, 2, not 3" in err) == (BAD_INPUT, True)
    assert run_cli("logs", run.uid, "-n", "-1")[0] == BAD_INPUT


def test_missing_log_is_reported(run_cli: RunCli, run: Run) -> None:
    code, out, err = run_cli("logs", run.uid)
    assert (code, out) == (NOT_FOUND, "") and "has no log yet" in err


def test_log_is_followed_through_attempts_until_the_run_ends(run_cli: RunCli, run: Run) -> None:
    write_log(run, "old\none\n")
    with following(run.uid, "-n", "1") as process:
        assert next_lines(process, 1) == ["one"]
        write_log(run, "two\nhal")
        assert next_lines(process, 1) == ["two"]
        write_log(run, "f\nlast words")
        assert next_lines(process, 1) == ["half"]
        end(run)
        make_attempt(run, 2)
        write_log(run, "resumed\n", n=2)
        assert next_lines(process, 2) == ["last words", "resumed"]
        write_log(run, "done\n", n=2)
        Attempt.objects.update(state="succeeded")
        Run.objects.update(state="succeeded")
        assert next_lines(process, 1) == ["done"]
        assert process.wait(PATIENCE_SECONDS) == 0


def test_followed_attempt_that_failed_has_its_exit_code(run_cli: RunCli, run: Run) -> None:
    write_log(run, "Traceback")
    end(run, "failed")
    code, out, _ = run_cli("logs", run.uid, "-f", "--attempt", "1")
    assert (code, out) == (ENDED_BADLY, "Traceback\n")


class LogHandler(BaseHTTPRequestHandler):
    """A handler that replies to each address with the data of `replies`."""

    replies: ClassVar[dict[str, Any]] = {}

    def do_GET(self) -> None:
        body = json.dumps(self.replies[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def log_server(port: int, state: str, lines: list[str]) -> Iterator[int]:
    """Serve a run in this state, whose log has these lines of one letter."""
    attempt = {"key": "k", "n": 1, "state": state, "restart_at": None}
    size = 2 * len(lines)
    LogHandler.replies = {"/api/v1/runs/x": {"state": state, "attempts": [attempt]}} | {
        f"/api/v1/attempts/k/log?start={start}": {
            "start": start, "end": size, "size": size, "first": 1, "lines": lines[start // 2 :], "unfinished": "",
        }
        for start in range(0, size + 1, 2)
    }  # fmt: skip
    with HTTPServer(("127.0.0.1", port), LogHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_log_is_followed_past_a_restart_of_the_server() -> None:
    with ExitStack() as stack:
        with log_server(0, "running", ["a", "b"]) as port:
            environment = {"ESWEB_URL": f"http://127.0.0.1:{port}", "ESWEB_TOKEN": "esw_x"}
            process = stack.enter_context(following("x", **environment))
            assert next_lines(process, 2) == ["a", "b"]
        assert process.stderr is not None and "does not answer" in process.stderr.readline()
        with log_server(port, "succeeded", ["a", "b", "c"]):
            assert next_lines(process, 1) == ["c"]
            assert process.wait(PATIENCE_SECONDS) == 0
