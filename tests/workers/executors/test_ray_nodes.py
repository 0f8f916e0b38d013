"""Nodes of a Ray cluster, and jobs that need several of them or a type of GPU: what is sent, held back and reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.workers.executors.test_ray_answers import Answers, Dashboard, job
from workers.attempt import CLOSED_EPOCH, lease
from workers.executors.base import NodeShape, Spec
from workers.executors.ray import Ray, Site
from workers.executors.states import State

SUBMIT = "POST /api/jobs/"
LABEL = "ray.io/accelerator-type"


class Bodies(Answers):
    """Reply like a dashboard, and store the bodies of requests."""

    def do_POST(self) -> None:
        body = self.rfile.peek(int(self.headers.get("Content-Length") or 0))
        bodies.append(json.loads(body or b"null"))
        self.do_GET()


bodies: list[Any] = []
"""Bodies of the requests of a test."""


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    server = Dashboard(("127.0.0.1", 0), Bodies)
    server.replies, server.requests = {SUBMIT: (200, "{}"), "GET /api/jobs/k": (404, "Job k does not exist")}, []
    bodies.clear()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def ray(dashboard: Dashboard, folder: Path, **site: Any) -> Ray:
    return Ray(Site(f"http://127.0.0.1:{dashboard.server_port}", **site), folder / "queue")


def set_nodes(dashboard: Dashboard, *nodes: dict[str, Any]) -> None:
    """Let the dashboard report these living nodes, and no job."""
    raylets = [{"raylet": {"state": "ALIVE", "labels": {}, **node}} for node in nodes]
    dashboard.replies["GET /nodes?view=summary"] = (200, json.dumps({"data": {"summary": raylets}}))
    dashboard.replies["GET /api/jobs/"] = (200, "[]")


def node(cores: float = 8, gpus: float = 2, label: str = "", **total: float) -> dict[str, Any]:
    """Return a node of Ray; `label` is its type of GPU as a label."""
    resources = {"CPU": cores, "memory": 4096.0 * 2**20, **({"GPU": gpus} if gpus else {}), **total}
    return {"resourcesTotal": resources, "labels": {LABEL: label} if label else {}}


def spec(folder: Path, **needs: Any) -> Spec:
    return Spec("k", folder / "k", ("true",), **needs)


def submits(dashboard: Dashboard) -> int:
    return [path for path, _ in dashboard.requests].count(SUBMIT)


H100, A100 = node(**{"acceleratorType:H100": 1.0}), node(gpus=4, label="A100", **{"acceleratorType:A100": 1.0})


def test_node_shapes_are_counted_by_size_and_type(dashboard: Dashboard, tmp_path: Path) -> None:
    dead = {**node(cores=99), "state": "DEAD"}
    set_nodes(dashboard, H100, node(gpus=0), A100, node(cores=0, gpus=0), H100, dead)
    assert ray(dashboard, tmp_path).node_shapes() == [
        NodeShape(1, 8, 4096, 4, "A100"),
        NodeShape(2, 8, 4096, 2, "H100"),
        NodeShape(1, 8, 4096, 0, ""),
    ]


@pytest.mark.parametrize(
    ("gpu_type", "nodes", "resource"),
    [
        ("h100", [A100, H100], "accelerator_type:H100"),
        ("geforce-rtx-5090", [node(label="GeForce-RTX-5090")], "accelerator_type:GeForce-RTX-5090"),
        ("t4", [A100], "accelerator_type:t4"),
    ],
)
def test_type_of_gpu_is_sent_in_the_spelling_of_the_nodes(
    dashboard: Dashboard, tmp_path: Path, gpu_type: str, nodes: list[dict[str, Any]], resource: str
) -> None:
    set_nodes(dashboard, *nodes)
    site = {"resources": {"accelerator_type:L4": 0.001, "fast_disk": 1}}
    ray(dashboard, tmp_path, **site).submit(spec(tmp_path, gpus=1, gpu_type=gpu_type))
    assert bodies[0]["entrypoint_resources"] == {"fast_disk": 1, resource: 0.001}


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        ({"nodes": 2, "cores": 8, "gpus": 2}, "2 nodes with 8 cores and 2 GPUs each, or to start"),
        (
            {"gpus": 1, "gpu_type": "t4"},
            "1 core and 1 t4 GPU: Ray has no GPU of type t4 now; types of its GPUs: A100, H100",
        ),
        (
            {"gpus": 4, "gpu_type": "h100"},
            "1 core and 4 H100 GPUs: Ray has no node that large now; its largest has 8 cores and 2 H100 GPUs",
        ),
        ({"gpus": 0.25, "gpu_type": "h100"}, "1 core and 0.25 of one H100 GPU, or to start"),
        (
            {"memory_mb": 9000},
            "1 core and 9000 MB: Ray has no node that large now; its largest has 8 cores, 4 A100 GPUs and 4096 MB",
        ),
    ],
)
def test_waiting_job_names_what_is_missing(
    dashboard: Dashboard, tmp_path: Path, needs: dict[str, Any], reason: str
) -> None:
    set_nodes(dashboard, H100, A100)
    executor = ray(dashboard, tmp_path)
    executor.submit(spec(tmp_path, **needs))
    dashboard.replies["GET /api/jobs/"] = (200, json.dumps([job("PENDING")]))
    seen = executor.poll(["k"])["k"]
    assert seen is not None and seen.reason == f"waiting for {reason} (Ray: PENDING)"
    assert seen.never_starts == ("now" in reason)


def test_job_is_held_back_until_ray_has_enough_nodes(dashboard: Dashboard, tmp_path: Path) -> None:
    executor = ray(dashboard, tmp_path)
    set_nodes(dashboard, H100, A100)
    executor.submit(spec(tmp_path, nodes=3, cores=4))
    for seen in (executor.find("k"), executor.poll(["k"])["k"]):
        assert seen is not None and (seen.state, seen.native) == (State.QUEUED, "HELD")
    assert seen.never_starts
    assert seen.reason == (
        "waiting for 3 nodes with 4 cores each: Ray has 2 nodes that large now (not sent to Ray yet)"
    )
    assert submits(dashboard) == 0
    set_nodes(dashboard, H100, A100, H100)
    executor.poll(["k"])
    assert submits(dashboard) == 1 and bodies[0]["entrypoint_num_cpus"] == 4
    dashboard.replies["GET /api/jobs/"] = (200, json.dumps([job("RUNNING")]))
    executor.poll(["k"])
    # A head that has forgotten the job does not get it again.
    set_nodes(dashboard, H100, A100, H100)
    assert executor.poll(["k"]) == {"k": None} and submits(dashboard) == 1


def test_cancelled_job_that_is_held_back_is_never_submitted(dashboard: Dashboard, tmp_path: Path) -> None:
    executor = ray(dashboard, tmp_path)
    set_nodes(dashboard, H100)
    executor.submit(spec(tmp_path, nodes=2))
    executor.cancel("k", 1.0)
    set_nodes(dashboard, H100, A100)
    seen = executor.poll(["k"])["k"]
    assert seen is not None and seen.state == State.CANCELLED
    assert seen.reason == "cancelled while it was queued; it was not sent to Ray"
    assert submits(dashboard) == 0 and lease(tmp_path / "k") == CLOSED_EPOCH


def test_refused_job_that_was_held_back_fails_with_the_reason(dashboard: Dashboard, tmp_path: Path) -> None:
    executor = ray(dashboard, tmp_path)
    set_nodes(dashboard, H100)
    executor.submit(spec(tmp_path, nodes=2))
    set_nodes(dashboard, H100, A100)
    dashboard.replies[SUBMIT] = (400, "TypeError: no such thing")
    seen = executor.poll(["k"])["k"]
    assert seen is not None and (seen.state, seen.reason) == (State.FAILED, "Ray refused it: TypeError: no such thing")


def test_autoscaling_ray_gets_every_job(dashboard: Dashboard, tmp_path: Path) -> None:
    executor = ray(dashboard, tmp_path, autoscales=True)
    set_nodes(dashboard, H100)
    executor.submit(spec(tmp_path, nodes=2, cores=99))
    assert submits(dashboard) == 1
    dashboard.replies["GET /api/jobs/"] = (200, json.dumps([job("PENDING")]))
    seen = executor.poll(["k"])["k"]
    assert seen is not None and not seen.never_starts and "Ray has no node that large now" in seen.reason
