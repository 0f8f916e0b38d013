"""API of clusters: list and read them; admins also see their configs, and add, change and test them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.contrib.auth.models import User
from django.http import Http404
from ninja import P, PathEx, Schema
from ninja.errors import HttpError
from pydantic import Field

from runs import access
from runs.clusters import connection_test
from runs.clusters.commands import add_cluster, change_cluster
from runs.clusters.connection_test import report_steps
from runs.clusters.gpu_use import report_gpus
from runs.clusters.inventory import usable_shapes
from runs.clusters.settings import KEYS
from runs.http import ApiRequest, Input, Invalid, Output, RowText, Username, needs, router
from runs.models import Cluster, ClusterTest
from workers.config import Problem

MAX_CLUSTERS = 1000


class NewCluster(Input):
    """Kind and config of a cluster to add or change. The keys of `config` depend on the kind; it names files and holds
    no secrets.
    """

    kind: Literal[*KEYS]  # type: ignore[valid-type]
    config: dict[str, Any]


class NodesOut(Output):
    """So many equal nodes, and what each has in total, used or not. `memory_mb` is 0 if the cluster does not report it,
    and `gpu_type` is empty if it does not name one. `gpu_shards` are those of all GPUs of a node of Slurm, 0 if it does
    not divide them. A node that is in several partitions counts in each.
    """

    count: int
    cores: int
    memory_mb: int
    gpus: int
    gpu_type: str
    gpu_shards: int
    partition: str


class GpuOut(Output):
    """A GPU of this machine that runs may use. Memory is in GB of 10⁹ bytes: `memory_gb` is null if the driver does not
    report it, and `others_gb` is what programs outside esweb hold. `share` is the part of the GPU that `jobs` jobs
    have.
    """

    index: int
    name: str
    memory_gb: float | None
    used_gb: float
    others_gb: float
    share: float
    jobs: int


class ClusterOut(Output):
    """A cluster. `config` is null unless an admin calls. `answered_at` is when it last replied, null until it has;
    `unreachable_since_at` is set while it does not reply. `ticked_at` is when its jobs were last checked. `nodes` are
    those that runs may use, as read at `nodes_at`; the list is empty until they are read. `nodes_at` is null for this
    machine, whose config is always current. `gpus` are those of this machine that runs may use now, and
    `gpus_reason` says why there are no others; both are empty for clusters elsewhere.
    """

    name: str
    kind: str
    answered_at: datetime | None
    ticked_at: datetime | None
    unreachable_since_at: datetime | None
    nodes: list[NodesOut]
    nodes_at: datetime | None = Field(validation_alias="inventory_at")
    gpus: list[GpuOut]
    gpus_reason: str
    config: dict[str, Any] | None


class ClusterTestStep(Output):
    """A step of a test. `message` gives its result, why it failed and what to do, or what it waits for."""

    name: str
    state: Literal["done", "failed", "going", "waiting"]
    message: str


class ClusterTestOut(Output):
    """Test of a cluster with a small real job. `person` is null if no user started it."""

    id: int
    cluster: RowText
    state: Literal["going", "passed", "failed"]
    person: Username | None = Field(validation_alias="asked_by")
    started_at: datetime
    ended_at: datetime | None
    steps: list[ClusterTestStep]

    resolve_steps = staticmethod(report_steps)


class ClustersOut(Schema):
    """List of all clusters, sorted by name."""

    items: list[ClusterOut]


Name = PathEx[str, P(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$", example="local")]
EXAMPLE: dict[str, Any] = {"kind": "local", "config": {"cores": 4}}


@router.get("/clusters", response=ClustersOut, auth=needs("read"), tags=["clusters"], summary="List clusters")
def list_clusters(request: ApiRequest) -> ClustersOut:
    """Return the clusters on which runs can run; `compute.cluster` names one of them. Only admins see configs."""
    clusters = Cluster.objects.order_by("name")[:MAX_CLUSTERS]
    return ClustersOut(items=[_cluster_out(cluster, request.auth.person) for cluster in clusters])


@router.get("/clusters/{name}", response=ClusterOut, auth=needs("read"), tags=["clusters"], summary="Read a cluster")
def read_cluster(request: ApiRequest, name: Name) -> ClusterOut:
    """Return one cluster. Only admins see its config."""
    return _cluster_out(_get_cluster(name), request.auth.person)


@router.put(
    "/clusters/{name}",
    response={200: ClusterOut, 201: ClusterOut},
    auth=needs("admin"),
    tags=["clusters"],
    summary="Add or change a cluster",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def put_cluster(request: ApiRequest, name: Name, new: NewCluster) -> tuple[int, ClusterOut]:
    """Add a cluster with this name, or change its config; the kind cannot change. Needs scope admin, of an admin."""
    _check_admin(request, "add or change")
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        return 201, _cluster_out(add_cluster(name, new.kind, new.config), request.auth.person)
    if cluster.kind != new.kind:
        raise Invalid(Problem("kind", f"must stay {cluster.kind}; add a cluster with another name instead"))
    change_cluster(cluster, new.config)
    return 200, _cluster_out(cluster, request.auth.person)


@router.post(
    "/clusters/{name}/test",
    response={202: ClusterTestOut},
    auth=needs("admin"),
    tags=["clusters"],
    summary="Test a cluster",
)
def test_cluster(request: ApiRequest, name: Name) -> tuple[int, ClusterTestOut]:
    """Start a test of the cluster with a small job, like the button on its page; read the result with GET. A test that
    is still running is returned unchanged, so the call is safe to repeat. Needs scope admin, of an admin.
    """
    _check_admin(request, "test")
    return 202, ClusterTestOut.from_row(connection_test.start_test(_get_cluster(name), request.auth.person))


@router.get(
    "/clusters/{name}/test",
    response=ClusterTestOut,
    auth=needs("read"),
    tags=["clusters"],
    summary="Read the newest test of a cluster",
)
def read_cluster_test(request: ApiRequest, name: Name) -> ClusterTestOut:
    """Return the newest test with each step's result; 404 if the cluster was never tested. Only admins may read it."""
    _check_admin(request, "test")
    tests = ClusterTest.objects.filter(cluster=_get_cluster(name)).select_related("cluster", "asked_by")
    test = tests.order_by("-pk").first()
    if test is None:
        raise Http404(f"{name} was never tested; start a test with POST")
    return ClusterTestOut.from_row(test)


def _cluster_out(cluster: Cluster, person: User) -> ClusterOut:
    report = report_gpus(cluster, person)
    return ClusterOut.from_row(
        cluster,
        nodes=usable_shapes(cluster),
        config=cluster.config if access.may_manage_clusters(person) else None,
        gpus=report.gpus,
        gpus_reason=report.reason,
    )


def _check_admin(request: ApiRequest, action: str) -> None:
    """Raise HttpError (403) unless an admin calls."""
    if not access.may_manage_clusters(request.auth.person):
        raise HttpError(403, f"Only admins may {action} clusters")


def _get_cluster(name: str) -> Cluster:
    """Return the cluster with this name. Raise Http404 if there is none."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise Http404(f"There is no cluster {name}")
    return cluster
