"""Clusters as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from runs.api.shapes.words import Input
from runs.models import Cluster


class NewCluster(Input):
    """What a cluster is to be. What `config` may hold depends on the kind; it names files, and holds no secret."""

    kind: Literal["local", "slurm", "ray"]
    config: dict[str, Any]


class ClusterOut(Schema):
    """A cluster. `config` is null for whoever is no admin; `unreachable_since_at` is null while it answers."""

    name: str
    kind: str
    ticked_at: datetime | None
    unreachable_since_at: datetime | None
    config: dict[str, Any] | None

    @classmethod
    def of(cls, cluster: Cluster, with_config: bool) -> ClusterOut:
        """As one person may see it."""
        return cls(
            name=cluster.name, kind=cluster.kind, ticked_at=cluster.ticked_at,
            unreachable_since_at=cluster.unreachable_since_at, config=cluster.config if with_config else None,
        )  # fmt: skip


class ClustersOut(Schema):
    """All clusters, by name."""

    items: list[ClusterOut]
