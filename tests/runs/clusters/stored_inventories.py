"""Clusters of the tests with nodes as they are stored after they were read."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.utils import timezone

from runs.models import Cluster
from workers.executors.base import NodeShape

FAR = (
    NodeShape(4, 8, 32_000, partition="main"),
    NodeShape(2, 16, 64_000, 4, "a100", partition="main"),
    NodeShape(2, 64, 512_000, 8, "h100", partition="gpu"),
)
RAYS = (NodeShape(1, 32, 128_000), NodeShape(2, 8, 32_000, 4, "T4"))


def make_cluster(
    name: str, kind: str, *shapes: NodeShape, age: timedelta = timedelta(), config: dict[str, Any] | None = None
) -> Cluster:
    """Create a cluster with these nodes, which were read `age` ago."""
    rows = [asdict(shape) for shape in shapes]
    at = timezone.now() - age
    return Cluster.objects.create(
        name=name, kind=kind, config=config or {}, inventory=rows, inventory_at=at, inventory_tried_at=at
    )


def make_clusters() -> None:
    """Create a Slurm cluster with two partitions, one without GPUs, one with limits and a Ray; give this machine four
    cores and two GPUs."""
    partitions = {"partition": "main", "partitions": ["main", "gpu", "old"]}
    make_cluster("far", "slurm", *FAR, config=partitions)
    make_cluster("cpus", "slurm", NodeShape(2, 4, 8_000, partition="all"))
    make_cluster("shared", "slurm", NodeShape(8, 16, 0, 4), config={"limits": {"nodes": 4, "total_gpus": 8}})
    make_cluster("rays", "ray", *RAYS)
    Cluster.objects.filter(name="local").update(config={"cores": 4, "gpus": ["0", "1"]})
