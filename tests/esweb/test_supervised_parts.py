"""A part that ends is replaced at once; meanwhile nobody waits for an answer that does not come."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from esweb.supervisor import Part, Tree, process
from esweb.supervisor.listening_socket import address_of, listen
from esweb.supervisor.stopgap import Stopgap, answering
from tests.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[2]
SERVER = """
import contextlib, os, select, socket, sys
from runs.management.standby import await_turn
loading = sys.argv[2]
while os.path.exists(loading):
    pass
await_turn()
print("begun", os.getpid(), flush=True)
with socket.socket(fileno=int(sys.argv[1])) as listener:
    while True:
        select.select([listener], [], [])
        # The stopgap, which has the same socket, may take the client, and lets no call of it wait.
        with contextlib.suppress(BlockingIOError):
            client, _ = listener.accept()
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
            client.close()
"""
"""A program that takes turns as the web does, and loads as long as a file exists."""


class WatchedPart:
    """A part that a tree watches in a thread, as `up` does, on a listening socket with a stopgap."""

    def __init__(self, folder: Path, listener: socket.socket, stopgap: Stopgap) -> None:
        self.address, self.loading, self.lines = address_of(listener), folder / "loading", list[str]()
        argv = [sys.executable, "-c", SERVER, str(listener.fileno()), str(self.loading)]
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        self.part = Part("web", argv, folder / "web.log", env, pass_fds=(listener.fileno(),))
        self.part.takes_turns, self.part.has_spare, self.part.stopgap = True, True, stopgap
        self.tree = Tree([], lambda _, line: self.lines.append(line))
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.tree.watch, args=(self.is_over.is_set,))

    def start(self) -> None:
        self.tree.start_part(self.part)
        self.thread.start()

    def end(self) -> None:
        self.is_over.set()
        self.thread.join()
        self.tree.stop_parts()

    def pid(self) -> int:
        assert self.part.process
        return self.part.process.pid

    def kill(self) -> int:
        """Kill the process, and return its id."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        return pid

    def status(self, **headers: str) -> int:
        return httpx.get(self.address, headers=headers, timeout=PATIENCE_SECONDS).status_code

    def has_spare(self) -> bool:
        """Return whether a second process is loaded."""
        return any(turn and turn.is_loaded() for _, turn in [self.part._spare or (None, None)])


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedPart]:
    monkeypatch.setattr(process, "SPARE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(process, "SILENT_SECONDS", 0.0)
    with listen("127.0.0.1", 0) as listener, answering(listener) as stopgap:
        running = WatchedPart(tmp_path, listener, stopgap)
        running.loading.touch()
        running.start()
        try:
            yield running
        finally:
            running.loading.unlink(missing_ok=True)
            running.end()


def test_requests_are_answered_starting_until_the_part_begins(watched: WatchedPart) -> None:
    answer = httpx.get(watched.address, headers={"Accept": "text/html"}, timeout=PATIENCE_SECONDS)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "esweb is starting" in answer.text
    watched.loading.unlink()
    wait_until(lambda: watched.status() == 200, "the part to answer", details=lambda: watched.lines)
    assert [watched.status() for _ in range(5)] == [200] * 5


def test_spare_process_takes_over_at_once(watched: WatchedPart) -> None:
    watched.loading.unlink()
    wait_until(watched.has_spare, "a spare process to be loaded", details=lambda: watched.lines)
    # Whatever starts now loads for ever.
    watched.loading.touch()
    killed = watched.kill()
    wait_until(lambda: watched.pid() != killed, "the spare process to take over", details=lambda: watched.lines)
    # The stopgap may answer until the spare process has begun.
    wait_until(lambda: watched.status() == 200, "the spare process to answer", details=lambda: watched.lines)
    wait_until(lambda: "web restarted" in watched.lines, "the report", details=lambda: watched.lines)
    killed_line, last_line = (line for line in watched.lines if line.startswith("web "))
    assert killed_line.startswith("web was killed by SIGKILL; restarting (") and last_line == "web restarted"


def test_requests_are_answered_while_a_part_without_spare_starts_again(watched: WatchedPart) -> None:
    watched.part.has_spare = False
    watched.loading.unlink()
    wait_until(lambda: watched.status() == 200, "the part to answer")
    watched.loading.touch()
    watched.kill()
    assert watched.status() == 503
    watched.loading.unlink()
    wait_until(lambda: watched.status() == 200, "the part to answer again", details=lambda: watched.lines)


def test_dead_spare_process_disturbs_nothing(watched: WatchedPart) -> None:
    watched.loading.unlink()
    wait_until(watched.has_spare, "a spare process to be loaded")
    assert watched.part._spare
    os.kill(watched.part._spare[0].pid, signal.SIGKILL)
    wait_until(lambda: watched.part._spare is None, "the end of the spare process to be noticed")
    assert watched.status() == 200
    watched.kill()
    wait_until(lambda: watched.status() == 200, "a new process to answer")


def test_part_that_keeps_ending_waits_longer_each_time(tmp_path: Path) -> None:
    failing = Part("failing", [sys.executable, "-S", "-c", "raise SystemExit(3)"], tmp_path / "failing.log", {})
    lines = list[str]()
    tree = Tree([], lambda _, line: lines.append(line))
    tree.start_part(failing)
    tree.watch(lambda: any("restarting in 2 s" in line for line in lines))
    ends = [line.partition(" (")[0] for line in lines if "ended" in line]
    assert ends == [
        "failing ended with exit code 3; restarting",
        "failing ended with exit code 3; restarting in 1 s",
        "failing ended with exit code 3; restarting in 2 s",
    ]


def test_end_of_a_server_is_described(tmp_path: Path) -> None:
    from esweb.embedded import Valkey

    lines, valkey = list[str](), Valkey(tmp_path, durable=False)
    tree = Tree([valkey], lambda _, line: lines.append(line))
    tree.start_servers()
    try:
        assert valkey.process
        valkey.process.kill()
        tree.watch(lambda: bool(lines))
    finally:
        tree.stop_servers()
    assert lines == [f"valkey was killed by SIGKILL; restarting (see {valkey.log})"]


@pytest.fixture
def stopgap() -> Iterator[str]:
    with listen("127.0.0.1", 0) as listener, answering(listener):
        yield address_of(listener)


@pytest.mark.parametrize(
    ("path", "headers", "kind", "words"),
    [
        ("/", {"Accept": "text/html"}, "text/html", "<h1>esweb is starting</h1>"),
        ("/", {"Accept": "text/html", "HX-Request": "true"}, "text/plain", "esweb is starting."),
        ("/api/v1/runs", {}, "application/problem+json", '"status": 503'),
        ("/healthz", {}, "application/json", '"web": "starting"'),
        ("/static/app.css", {}, "text/plain", "Try again in a few seconds."),
    ],
)
def test_stopgap_answers_in_the_client_s_format(
    stopgap: str, path: str, headers: dict[str, str], kind: str, words: str
) -> None:
    answer = httpx.get(stopgap + path, headers=headers, timeout=PATIENCE_SECONDS)
    assert (answer.status_code, answer.headers["Content-Type"].split(";")[0]) == (503, kind)
    assert words in answer.text


def test_stopgap_answers_a_push_that_is_longer_than_it_reads(stopgap: str) -> None:
    answer = httpx.post(f"{stopgap}/api/v1/attempts/x/records", content=b"x" * 2**22, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 503


def test_silent_clients_do_not_keep_the_stopgap_from_answering(stopgap: str) -> None:
    host, port = stopgap.removeprefix("http://").split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(600)]
    try:
        assert httpx.get(stopgap, timeout=PATIENCE_SECONDS).status_code == 503
    finally:
        for client in silent:
            client.close()


def test_program_on_standby_ends_with_its_supervisor() -> None:
    ours, theirs = socket.socketpair()
    program = "from runs.management.standby import await_turn; await_turn(); print('begun')"
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as waiting:
        theirs.close()
        assert ours.recv(1) == b"L"
        ours.close()
        output, errors = waiting.communicate(timeout=PATIENCE_SECONDS)
    assert (output, waiting.returncode) == (b"", 1)
    assert b"The supervisor of this process is gone." in errors
