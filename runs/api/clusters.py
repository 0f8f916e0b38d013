"""Clusters: which there are, and, for admins, how they are reached."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from ninja import P, PathEx
from ninja.errors import HttpError

from runs import access
from runs.api.auth import ApiRequest, needs
from runs.api.problems import Invalid
from runs.api.routes import router
from runs.api.shapes.clusters import ClusterOut, ClustersOut, NewCluster
from runs.launch.keeping_clusters import add_cluster, change_cluster
from runs.models import Cluster
from workers.config import Problem

MOST = 1000
Name = PathEx[str, P(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$", example="local")]
EXAMPLE: dict[str, Any] = {"kind": "local", "config": {"cores": 4}}


@router.get("/clusters", response=ClustersOut, auth=needs("read"), tags=["clusters"], summary="List clusters")
def list_clusters(request: ApiRequest) -> ClustersOut:
    """Where runs can run: what `compute.cluster` may name. Configs are shown to admins."""
    mine = access.may_manage_clusters(request.auth.person)
    return ClustersOut(items=[ClusterOut.of(c, mine) for c in Cluster.objects.order_by("name")[:MOST]])


@router.get("/clusters/{name}", response=ClusterOut, auth=needs("read"), tags=["clusters"], summary="Read a cluster")
def read_cluster(request: ApiRequest, name: Name) -> ClusterOut:
    """One cluster. Its config is shown to admins."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise Http404(f"There is no cluster {name}")
    return ClusterOut.of(cluster, access.may_manage_clusters(request.auth.person))


@router.put(
    "/clusters/{name}",
    response={200: ClusterOut, 201: ClusterOut},
    auth=needs("admin"),
    tags=["clusters"],
    summary="Add or change a cluster",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def put_cluster(request: ApiRequest, name: Name, new: NewCluster) -> tuple[int, ClusterOut]:
    """Adds a cluster of this name, or gives it this config; its kind stays. Needs scope admin, of an admin."""
    if not access.may_manage_clusters(request.auth.person):
        raise HttpError(403, "Clusters are added and changed by admins")
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        return 201, ClusterOut.of(add_cluster(name, new.kind, new.config), with_config=True)
    if cluster.kind != new.kind:
        raise Invalid(Problem("kind", f"must be {cluster.kind}, as it is: add a cluster of another name"))
    change_cluster(cluster, new.config)
    return 200, ClusterOut.of(cluster, with_config=True)
