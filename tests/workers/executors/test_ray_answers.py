"""Whatever a dashboard answers, or another server in its place: what is said of jobs is true, or nothing is said."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.free_ports import unused_port
from workers.attempt import CLOSED_EPOCH, lease
from workers.executors.base import Ambiguous, NotBegun, Rejected, Spec, Unreachable
from workers.executors.ray import Ray, Site, jobs
from workers.executors.ray.answers import Job
from workers.executors.states import State

EXISTS = "Traceback (most recent call last):\n  ...\nValueError: Job with submission_id k already exists. Please use a"
ABSENT = (404, "Job k does not exist")
ENDED = "Job entrypoint command failed with exit code {}, last available logs (truncated to 20,000 chars):\n{}"


class Dashboard(ThreadingHTTPServer):
    """Says what it was told to say: (status, text) by method and path."""

    says: dict[str, tuple[int, str]]
    heard: list[tuple[str, str | None]]


class Answers(BaseHTTPRequestHandler):
    """Any method."""

    server: Dashboard

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.heard.append((f"{self.command} {self.path}", self.headers.get("Authorization")))
        status, text = self.server.says.get(f"{self.command} {self.path}", (404, ""))
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    server = Dashboard(("127.0.0.1", 0), Answers)
    server.says, server.heard = {}, []
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def far(dashboard: Dashboard, tmp_path: Path) -> Ray:
    return Ray(Site(f"http://127.0.0.1:{dashboard.server_port}"), tmp_path / "queue")


def job(status: str = "RUNNING", **more: Any) -> dict[str, Any]:
    """As Ray describes one."""
    told = {"submission_id": "k", "status": status, "message": "", "error_type": None}
    return {**told, "driver_agent_http_address": None, **more}


def failed(message: str, error: str | None = None) -> dict[str, Any]:
    """One that has."""
    return job("FAILED", message=message, error_type=error)


@pytest.mark.parametrize(
    ("says", "error", "words"),
    [
        ((500, "Traceback\n  ...\nRuntimeError: no agent"), Ambiguous, "Ray answered 500: RuntimeError: no agent"),
        ((500, EXISTS), Ambiguous, "already exists"),
        ((502, "Bad Gateway"), Ambiguous, "answered 502: Bad Gateway"),
        ((0, ""), Ambiguous, "gives no answer"),
        ((400, "Traceback\n   ^^^^\nTypeError: entrypoint_num_cpus must be a number\n"), Rejected, "^TypeError: entry"),
        ((404, "404: Not Found"), NotBegun, "there is no Jobs API at http://127"),
    ],
)
def test_a_submit_that_was_not_taken_is_told_from_one_that_may_have_been(
    far: Ray, dashboard: Dashboard, tmp_path: Path, says: tuple[int, str], error: type[Exception], words: str
) -> None:
    dashboard.says = {"POST /api/jobs/": says, "GET /api/jobs/k": ABSENT}
    with pytest.raises(error, match=words):
        far.submit(Spec("k", tmp_path / "k", ("true",)))


def test_a_job_that_exists_already_was_submitted(far: Ray, dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.says = {"POST /api/jobs/": (500, EXISTS), "GET /api/jobs/k": (200, json.dumps(job()))}
    assert far.submit(Spec("k", tmp_path / "k", ("true",))) == "k"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (404, "404: Not Found"),
        (404, ""),
        (401, ""),
        (403, ""),
        (302, ""),
        (500, "x"),
        (200, "<html>"),
        (200, "3"),
        (0, ""),
    ],
)
def test_no_answer_of_rays_is_no_answer(far: Ray, dashboard: Dashboard, status: int, text: str) -> None:
    for path in ("GET /api/jobs/", "GET /api/jobs/k"):
        dashboard.says[path] = (status, text)
    for ask in (lambda: far.poll(["k"]), lambda: far.find("k"), lambda: far.cancel("k", 1.0)):
        with pytest.raises(Unreachable):
            ask()
    # No redirect is followed.
    assert {path for path, _ in dashboard.heard} == {"GET /api/jobs/", "GET /api/jobs/k"}


def test_nobody_at_the_address_means_that_nothing_was_sent(tmp_path: Path) -> None:
    far = Ray(Site(f"http://127.0.0.1:{unused_port()}"), tmp_path / "queue")
    with pytest.raises(NotBegun, match="nobody answers at"):
        far.submit(Spec("k", tmp_path / "k", ("true",)))


def test_a_dashboard_that_hangs_is_left(far: Ray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        far = Ray(Site(f"http://127.0.0.1:{deaf.getsockname()[1]}"), tmp_path / "queue")
        with pytest.raises(Ambiguous, match="gives no answer: timed out"):
            far.submit(Spec("k", tmp_path / "k", ("true",)))
        with pytest.raises(Unreachable):
            far.poll(["k"])


def test_an_absent_job_is_absent_where_ray_says_so(far: Ray, dashboard: Dashboard) -> None:
    dashboard.says = {"GET /api/jobs/k": ABSENT, "GET /api/jobs/": (200, json.dumps([job(submission_id="other")]))}
    assert far.find("k") is None and far.poll(["k"]) == {"k": None}
    far.cancel("k", 1.0)
    assert not [path for path, _ in dashboard.heard if path.startswith("POST")]


def node(state: str, **total: float) -> dict[str, Any]:
    """As the dashboard describes one."""
    return {"raylet": {"state": state, "resourcesTotal": total}}


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([node("ALIVE", CPU=8.0, GPU=2.0), node("ALIVE", CPU=64.0)], ", or to be started"),
        (
            [node("ALIVE", CPU=8.0, GPU=1.0), node("ALIVE", CPU=64.0), node("DEAD", CPU=8.0, GPU=2.0)],
            ": Ray has no node so large now, its largest has 8 cores and 1 GPU",
        ),
        ([], ", or to be started"),
        ([3], ", or to be started"),
        (None, ", or to be started"),
    ],
)
def test_a_job_that_no_node_can_hold_is_told_so_and_five_hundred_cost_two_questions(
    far: Ray, dashboard: Dashboard, tmp_path: Path, nodes: list[Any] | None, why: str
) -> None:
    dashboard.says["POST /api/jobs/"] = (200, "{}")
    far.submit(Spec("k", tmp_path / "k", ("true",), cores=4, gpus=2))
    dashboard.heard.clear()
    many = [job("PENDING"), *(job("RUNNING", submission_id=f"j{i}") for i in range(499))]
    dashboard.says["GET /api/jobs/"] = (200, json.dumps(many))
    if nodes is not None:
        dashboard.says["GET /nodes?view=summary"] = (200, json.dumps({"data": {"summary": nodes}}))
    seen = far.poll(["k", *(f"j{i}" for i in range(499))])
    assert seen["k"] is not None and seen["k"].reason == f"waiting for 4 cores and 2 GPUs{why} (Ray: PENDING)"
    assert seen["k"].never_starts == ("no node" in why)
    assert len(seen) == 500 and len(dashboard.heard) == 2
    far.poll(["j0"])
    assert len(dashboard.heard) == 3


def test_the_token_is_read_from_its_file_each_time_and_shown(dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.says = {"GET /api/jobs/k": ABSENT}
    file = tmp_path / "token"
    far = Ray(Site(f"http://127.0.0.1:{dashboard.server_port}/", token_file=str(file)), tmp_path / "queue")
    with pytest.raises(Unreachable, match="cannot be read"):
        far.find("k")
    for token in ("one", "two"):
        file.write_text(token + "\n")
        far.find("k")
    assert [shown for _, shown in dashboard.heard] == ["Bearer one", "Bearer two"]


@pytest.mark.parametrize(
    ("told", "state", "words"),
    [
        (job("RUNNING", driver_agent_http_address="http://10.0.0.5:52365"), State.RUNNING, "on 10.0.0.5"),
        (job("PAUSING"), State.QUEUED, ""),
        (job("PAUSING", driver_agent_http_address="http://n1:1"), State.RUNNING, "on n1"),
        (job("SUCCEEDED"), State.SUCCEEDED, "Ray: SUCCEEDED"),
        (job("STOPPED"), State.CANCELLED, "Ray: STOPPED"),
        (
            failed("Job supervisor actor died: The node is gone", "JOB_SUPERVISOR_ACTOR_DIED"),
            State.NODE_LOST,
            "what ran it died on its node, or the node did (Ray: JOB_SUPERVISOR_ACTOR_DIED: Job supervisor actor died: "
            "The node is gone)",
        ),
        (
            failed("killed due to the node running low on memory", "JOB_SUPERVISOR_ACTOR_DIED"),
            State.OOM,
            "Ray killed it: its node ran low on memory (compute.memory_mb)",
        ),
        (
            failed("failed to start within 900 seconds.", "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"),
            State.FAILED,
            "it waited longer than Ray lets jobs wait: RAY_JOB_START_TIMEOUT_SECONDS on the head, 900 where it is not "
            "set (Ray: JOB_SUPERVISOR_ACTOR_START_TIMEOUT: failed to start within 900 seconds.)",
        ),
        (
            failed(ENDED.format(2, "esweb agent: /r/k/spec.json is missing or holds no job\n")),
            State.FAILED,
            "the node does not see the folder that holds its files (Ray's log: esweb agent: /r/k/spec.json is missing "
            "or holds no job)",
        ),
        (
            failed(ENDED.format(7, "Running entrypoint for job k: exec No module named x\nout of luck\n")),
            State.FAILED,
            "Job entrypoint command failed with exit code 7: out of luck",
        ),
        (job("FAILED"), State.FAILED, "Ray: FAILED: nothing was said"),
    ],
)
def test_an_end_is_told_in_words(told: dict[str, Any], state: State, words: str) -> None:
    seen = Job.of(told).observed()
    assert (seen.state, seen.reason) == (state, words)


def test_a_job_that_waits_is_let_go_once_and_says_the_same_when_it_is_asked_again(
    dashboard: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(f"http://127.0.0.1:{dashboard.server_port}", start_seconds=60)
    far, now = Ray(site, tmp_path / "queue"), time.monotonic()
    dashboard.says = {
        "POST /api/jobs/": (200, "{}"),
        "GET /api/jobs/k": (200, json.dumps(job("PENDING"))),
        "POST /api/jobs/k/stop": (200, '{"stopped": true}'),
    }
    monkeypatch.setattr(time, "monotonic", lambda: now)
    far.submit(Spec("k", tmp_path / "k", ("true",)))
    for seconds, state, why in ((0, State.QUEUED, "waiting for 1 core"), (61, State.FAILED, "given up after 61 s")):
        monkeypatch.setattr(time, "monotonic", lambda at=now + seconds: at)
        for seen in (far.find("k"), far.find("k")):
            assert seen is not None and seen.state == state and seen.reason.startswith(why)
    assert lease(tmp_path / "k") == CLOSED_EPOCH
    other = Ray(Site(site.dashboard), tmp_path / "other")
    other.submit(Spec("k", tmp_path / "again", ("true",)))
    other.cancel("k", 1.0)
    seen = other.find("k")
    assert seen is not None and seen.state == State.CANCELLED and seen.reason.startswith("cancelled while it waited")
