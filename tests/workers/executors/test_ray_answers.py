"""Replies of a dashboard, or of another server in its place: reported job states are true, or none is reported."""

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

from tests.cases import each_case
from tests.free_ports import unused_port
from workers.attempt import CLOSED_EPOCH, lease
from workers.executors.base import Ambiguous, NotBegun, Rejected, Spec, Unreachable
from workers.executors.ray import Ray, Site, jobs
from workers.executors.ray.replies import Job
from workers.executors.states import State

EXISTS = "Traceback (most recent call last):\n  ...\nValueError: Job with submission_id k already exists. Please use a"
ABSENT = (404, "Job k does not exist")
ENDED = "Job entrypoint command failed with exit code {}, last available logs (truncated to 20,000 chars):\n{}"


class Dashboard(ThreadingHTTPServer):
    """A server that sends scripted replies: (status, text) by method and path."""

    replies: dict[str, tuple[int, str]]
    requests: list[tuple[str, str | None]]


class Answers(BaseHTTPRequestHandler):
    """Reply to any method."""

    server: Dashboard

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((f"{self.command} {self.path}", self.headers.get("Authorization")))
        status, text = self.server.replies.get(f"{self.command} {self.path}", (404, ""))
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    server = Dashboard(("127.0.0.1", 0), Answers)
    server.replies, server.requests = {}, []
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def ray(dashboard: Dashboard, tmp_path: Path) -> Ray:
    return Ray(Site(f"http://127.0.0.1:{dashboard.server_port}"), tmp_path / "queue")


def job(status: str = "RUNNING", **more: Any) -> dict[str, Any]:
    """Return a job as Ray describes it."""
    fields = {"submission_id": "k", "status": status, "message": "", "error_type": None}
    return {**fields, "driver_agent_http_address": None, **more}


def failed(message: str, error: str | None = None) -> dict[str, Any]:
    """Return a failed job as Ray describes it."""
    return job("FAILED", message=message, error_type=error)


@each_case(
    ("reply", "error", "words"),
    [
        ((500, "Traceback\n  ...\nRuntimeError: no agent"), Ambiguous, "Ray answered 500: RuntimeError: no agent"),
        ((500, EXISTS), Ambiguous, "already exists"),
        ((502, "Bad Gateway"), Ambiguous, "answered 502: Bad Gateway"),
        ((0, ""), Ambiguous, "does not answer"),
        ((400, "Traceback\n   ^^^^\nTypeError: entrypoint_num_cpus must be a number\n"), Rejected, "^TypeError: entry"),
        ((404, "404: Not Found"), NotBegun, "there is no Jobs API at http://127"),
    ],
)
def test_failed_submit_is_rejected_or_ambiguous(
    ray: Ray, dashboard: Dashboard, tmp_path: Path, reply: tuple[int, str], error: type[Exception], words: str
) -> None:
    dashboard.replies = {"POST /api/jobs/": reply, "GET /api/jobs/k": ABSENT}
    with pytest.raises(error, match=words):
        ray.submit(Spec("k", tmp_path / "k", ("true",)))


def test_submit_of_existing_job_succeeds(ray: Ray, dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.replies = {"POST /api/jobs/": (500, EXISTS), "GET /api/jobs/k": (200, json.dumps(job()))}
    assert ray.submit(Spec("k", tmp_path / "k", ("true",))) == "k"


@each_case(
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
def test_invalid_reply_is_unreachable(ray: Ray, dashboard: Dashboard, status: int, text: str) -> None:
    for path in ("GET /api/jobs/", "GET /api/jobs/k"):
        dashboard.replies[path] = (status, text)
    for ask in (lambda: ray.poll(["k"]), lambda: ray.find("k"), lambda: ray.cancel("k", 1.0)):
        with pytest.raises(Unreachable):
            ask()
    # No redirect is followed.
    assert {path for path, _ in dashboard.requests} == {"GET /api/jobs/", "GET /api/jobs/k"}


def test_submit_without_server_has_not_begun(tmp_path: Path) -> None:
    ray = Ray(Site(f"http://127.0.0.1:{unused_port()}"), tmp_path / "queue")
    with pytest.raises(NotBegun, match="nothing answers at"):
        ray.submit(Spec("k", tmp_path / "k", ("true",)))


def test_hanging_dashboard_times_out(ray: Ray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        ray = Ray(Site(f"http://127.0.0.1:{deaf.getsockname()[1]}"), tmp_path / "queue")
        with pytest.raises(Ambiguous, match="does not answer: timed out"):
            ray.submit(Spec("k", tmp_path / "k", ("true",)))
        with pytest.raises(Unreachable):
            ray.poll(["k"])


def test_job_unknown_to_ray_is_absent(ray: Ray, dashboard: Dashboard) -> None:
    dashboard.replies = {"GET /api/jobs/k": ABSENT, "GET /api/jobs/": (200, json.dumps([job(submission_id="other")]))}
    assert ray.find("k") is None and ray.poll(["k"]) == {"k": None}
    ray.cancel("k", 1.0)
    assert not [path for path, _ in dashboard.requests if path.startswith("POST")]


def node(state: str, **total: float) -> dict[str, Any]:
    """Return a node as the dashboard describes it."""
    return {"raylet": {"state": state, "resourcesTotal": total}}


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("ALIVE", CPU=8.0, GPU=2.0), node("ALIVE", CPU=64.0)], ", or to start"),
        (
            [node("ALIVE", CPU=8.0, GPU=1.0), node("ALIVE", CPU=64.0), node("DEAD", CPU=8.0, GPU=2.0)],
            ": Ray has no node that large now; its largest has 8 cores and 1 GPU",
        ),
        ([], ", or to start"),
        ([3], ", or to start"),
        (None, ", or to start"),
    ],
)
def test_job_too_large_for_nodes_is_reported_with_two_requests(
    ray: Ray, dashboard: Dashboard, tmp_path: Path, nodes: list[Any] | None, reason: str
) -> None:
    dashboard.replies["POST /api/jobs/"] = (200, "{}")
    ray.submit(Spec("k", tmp_path / "k", ("true",), cores=4, gpus=2))
    dashboard.requests.clear()
    many = [job("PENDING"), *(job("RUNNING", submission_id=f"j{i}") for i in range(499))]
    dashboard.replies["GET /api/jobs/"] = (200, json.dumps(many))
    if nodes is not None:
        dashboard.replies["GET /nodes?view=summary"] = (200, json.dumps({"data": {"summary": nodes}}))
    seen = ray.poll(["k", *(f"j{i}" for i in range(499))])
    assert seen["k"] is not None and seen["k"].reason == f"waiting for 4 cores and 2 GPUs{reason} (Ray: PENDING)"
    assert seen["k"].never_starts == ("no node" in reason)
    assert len(seen) == 500 and len(dashboard.requests) == 2
    ray.poll(["j0"])
    assert len(dashboard.requests) == 3


def test_token_is_read_from_file_for_each_request(dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.replies = {"GET /api/jobs/k": ABSENT}
    file = tmp_path / "token"
    ray = Ray(Site(f"http://127.0.0.1:{dashboard.server_port}/", token_file=str(file)), tmp_path / "queue")
    with pytest.raises(Unreachable, match="cannot be read"):
        ray.find("k")
    for token in ("one", "two"):
        file.write_text(token + "\n")
        ray.find("k")
    assert [header for _, header in dashboard.requests] == ["Bearer one", "Bearer two"]


@each_case(
    ("reply", "state", "words"),
    [
        (job("RUNNING", driver_agent_http_address="http://10.0.0.5:52365"), State.RUNNING, "on 10.0.0.5"),
        (job("PAUSING"), State.QUEUED, ""),
        (job("PAUSING", driver_agent_http_address="http://n1:1"), State.RUNNING, "on n1"),
        (job("SUCCEEDED"), State.SUCCEEDED, "Ray: SUCCEEDED"),
        (job("STOPPED"), State.CANCELLED, "Ray: STOPPED"),
        (
            failed("Job supervisor actor died: The node is gone", "JOB_SUPERVISOR_ACTOR_DIED"),
            State.NODE_LOST,
            "its process died on its node, or the node failed "
            "(Ray: JOB_SUPERVISOR_ACTOR_DIED: Job supervisor actor died: "
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
            "it waited longer than Ray allows: RAY_JOB_START_TIMEOUT_SECONDS on the head, 900 by "
            "default (Ray: JOB_SUPERVISOR_ACTOR_START_TIMEOUT: failed to start within 900 seconds.)",
        ),
        (
            failed(ENDED.format(2, "esweb agent: /r/k/spec.json is missing or does not contain a job\n")),
            State.FAILED,
            "the node cannot access the job's folder (Ray's log: esweb agent: /r/k/spec.json is missing "
            "or does not contain a job)",
        ),
        (
            failed(ENDED.format(7, "Running entrypoint for job k: exec No module named x\nout of luck\n")),
            State.FAILED,
            "Job entrypoint command failed with exit code 7: out of luck",
        ),
        (job("FAILED"), State.FAILED, "Ray: FAILED: no message"),
    ],
)
def test_end_of_job_is_described(reply: dict[str, Any], state: State, words: str) -> None:
    seen = Job.parse(reply).to_observation()
    assert (seen.state, seen.reason) == (state, words)


def test_job_that_waits_too_long_is_given_up_once(
    dashboard: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(f"http://127.0.0.1:{dashboard.server_port}", start_seconds=60)
    ray, now = Ray(site, tmp_path / "queue"), time.monotonic()
    dashboard.replies = {
        "POST /api/jobs/": (200, "{}"),
        "GET /api/jobs/k": (200, json.dumps(job("PENDING"))),
        "POST /api/jobs/k/stop": (200, '{"stopped": true}'),
    }
    monkeypatch.setattr(time, "monotonic", lambda: now)
    ray.submit(Spec("k", tmp_path / "k", ("true",)))
    for seconds, state, reason in ((0, State.QUEUED, "waiting for 1 core"), (61, State.FAILED, "given up after 61 s")):
        monkeypatch.setattr(time, "monotonic", lambda at=now + seconds: at)
        for seen in (ray.find("k"), ray.find("k")):
            assert seen is not None and seen.state == state and seen.reason.startswith(reason)
    assert lease(tmp_path / "k") == CLOSED_EPOCH
    other = Ray(Site(site.dashboard), tmp_path / "other")
    other.submit(Spec("k", tmp_path / "again", ("true",)))
    other.cancel("k", 1.0)
    seen = other.find("k")
    assert seen is not None and seen.state == State.CANCELLED
    assert seen.reason.startswith("cancelled while it was queued")
