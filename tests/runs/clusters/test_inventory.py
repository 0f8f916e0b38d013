"""The nodes of a cluster: read by ticks and by the cluster's test, kept while it is silent, and shown on its page."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs import clusters
from runs.clusters import change_cluster
from runs.clusters.connection_test import report_steps
from runs.clusters.inventory import describe_shapes, inventory_of, refresh_due_inventory, refresh_inventory
from runs.clusters.settings import config_errors
from runs.launching.reconcile import reconcile_cluster
from runs.models import Cluster, ClusterTest
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.clusters.stored_inventories import FAR, RAYS, make_cluster
from tests.runs.clusters.test_pages import page_text
from workers.executors.base import NodeShape
from workers.executors.local import Local

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
SILENT = {"dashboard": "http://127.0.0.1:9"}
"""Config of a Ray that does not answer."""


@pytest.fixture
def root_client(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_nodes_of_this_machine_follow_from_its_config(local: Cluster) -> None:
    local.config = {"cores": 3, "gpus": ["0", "1"]}
    local.save()
    (shape,) = inventory_of(local).shapes
    assert (shape.count, shape.cores, shape.gpus, shape.gpu_type, shape.partition) == (1, 3, 2, "", "")
    assert shape.memory_mb > 0 and inventory_of(local).read_at is None
    assert reconcile_cluster(local)
    local.refresh_from_db()
    assert (local.inventory, local.inventory_at, local.inventory_tried_at) == ([], None, None)


@pytest.mark.parametrize("minutes", [9, 11])
def test_tick_reads_the_nodes_again_after_ten_minutes(minutes: int, caplog: pytest.LogCaptureFixture) -> None:
    rays = make_cluster("rays", "ray", *RAYS, age=timedelta(minutes=minutes), config=SILENT)
    read_at = rays.inventory_at
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert reconcile_cluster(Cluster.objects.get(pk=rays.pk))
    rays.refresh_from_db()
    assert (inventory_of(rays).shapes, rays.inventory_at) == (RAYS, read_at)
    assert rays.inventory_tried_at is not None
    assert (timezone.now() - rays.inventory_tried_at < timedelta(minutes=1)) == (minutes == 11)
    # The cluster is silent, so its last nodes stay, and it is not contacted with each tick.
    assert caplog.text.count("Nodes of cluster rays cannot be read; retrying in 0:10:00: ") == (minutes == 11)


def test_cluster_whose_clock_was_ahead_is_read_again() -> None:
    rays = make_cluster("rays", "ray", *RAYS, age=timedelta(hours=-3), config=SILENT)
    refresh_due_inventory(rays)
    rays.refresh_from_db()
    assert rays.inventory_tried_at is not None and rays.inventory_tried_at < timezone.now()


def test_interval_of_reads_is_a_setting() -> None:
    assert not list(config_errors({**SILENT, "waits": {"inventory": 60}, "autoscales": True}, "ray"))
    assert list(config_errors({"waits": {"inventory": -1}})) == ["waits: inventory must be a number of seconds, not -1"]


@each_case(
    ("shapes", "message"),
    [
        ([NodeShape(1, 1)] * 2001, "2001 kinds of nodes; at most 2000"),
        ([NodeShape(1, -1)], "must be between 0 and"),
        ([NodeShape(1, 1, gpus=2**31)], "must be between 0 and"),
        ([NodeShape(1, 1, gpu_type="a\x00b")], "at most 200 printable characters"),
        ([NodeShape(1, 1, partition="p" * 201)], "at most 200 printable characters"),
    ],
    ids=["many", "negative", "large", "unprintable", "long"],
)
def test_reply_that_cannot_be_stored_changes_nothing(
    shapes: list[NodeShape], message: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Talkative(Local):
        def node_shapes(self) -> list[NodeShape]:
            return shapes

    monkeypatch.setitem(clusters.EXECUTORS, "ray", lambda cluster: Talkative(Path(cluster.config["queue"]), cores=1))
    rays = make_cluster("rays", "ray", *RAYS, age=timedelta(hours=1), config={"queue": "nowhere"})
    with pytest.raises(ValueError, match=message):
        refresh_inventory(rays)
    refresh_due_inventory(rays)
    rays.refresh_from_db()
    assert inventory_of(rays).shapes == RAYS and message in caplog.text


def test_changed_config_forgets_the_nodes() -> None:
    far = make_cluster("far", "slurm", *FAR)
    change_cluster(far, {"partition": "main"})
    far.refresh_from_db()
    assert (inventory_of(far).shapes, far.inventory_at, far.inventory_tried_at) == ((), None, None)


def test_row_of_another_version_is_read() -> None:
    far = Cluster(kind="slurm", inventory=[{"count": 2, "cores": 4, "colour": "blue"}])
    assert inventory_of(far).shapes == (NodeShape(2, 4),)


def test_nodes_are_described() -> None:
    assert describe_shapes([NodeShape(3, 4, 4000, 2, "a100")]) == "3 nodes with 4 cores and 2 GPUs (a100)"
    assert describe_shapes([NodeShape(1, 4, 0, 2, "a100", gpu_shards=8)]) == (
        "1 node with 4 cores and 2 GPUs (a100, 4 shards each)"
    )
    assert describe_shapes([NodeShape(1, 1, gpus=1), NodeShape(2, 8, partition="cpu")]) == (
        "1 node with 1 core and 1 GPU; cpu: 2 nodes with 8 cores"
    )
    assert describe_shapes([NodeShape(1, n) for n in range(1, 15)]).endswith("; and 2 other kinds of nodes")


def test_page_of_a_cluster_shows_its_nodes_with_their_age(root_client: Client) -> None:
    make_cluster("far", "slurm", *FAR, NodeShape(1, 2), age=timedelta(minutes=5))
    page = page_text(root_client.get("/settings/clusters/of/far/"))
    assert "Read <time" in page and "5 min" in page
    row = page[page.index('<th scope="row">gpu</th>') :].partition("</tr>")[0]
    assert "<code>h100</code>" in row and "512000 MB" in row and ">64<" in row
    assert "A launch that no such nodes can run is refused." in page
    make_cluster("rays", "ray", *RAYS, config=SILENT | {"autoscales": True})
    assert "The cluster adds nodes on demand" in page_text(root_client.get("/settings/clusters/of/rays/"))
    Cluster.objects.create(name="new", kind="slurm")
    assert "Not read yet, so no launch is checked against them." in page_text(
        root_client.get("/settings/clusters/of/new/")
    )
    assert "A launch that no such nodes can run is refused." in page_text(
        root_client.get("/settings/clusters/of/local/")
    )


def test_api_lists_the_nodes_that_runs_may_use(ada: User) -> None:
    far = make_cluster("far", "slurm", *FAR, config={"partition": "gpu"})
    seen = calls(ada, "read").get("/api/v1/clusters/far").json()
    assert seen["nodes"] == [
        {
            "count": 2, "cores": 64, "memory_mb": 512_000, "gpus": 8, "gpu_type": "h100", "gpu_shards": 0,
            "partition": "gpu",
        }
    ]  # fmt: skip
    assert seen["nodes_at"] is not None and seen["config"] is None
    Cluster.objects.filter(pk=far.pk).update(config={})
    assert len(calls(ada, "read").get("/api/v1/clusters/far").json()["nodes"]) == 3
    assert len(calls(ada, "read").get("/api/v1/clusters/local").json()["nodes"]) == 1


def test_cluster_test_of_an_earlier_version_still_shows(local: Cluster) -> None:
    steps = [{"name": name, "said": "ok"} for name in ("reach", "submit", "ran", "records", "environment")]
    test = ClusterTest.objects.create(cluster=local, steps=steps, ended_at=timezone.now())
    assert [(report.name, report.state) for report in report_steps(test)][:2] == [("reach", "done"), ("submit", "done")]
