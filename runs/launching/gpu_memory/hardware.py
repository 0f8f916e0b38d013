"""The GPUs that a run can get on a cluster: how many on how many nodes, and the memory of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runs.clusters import cards_of, inventory_of, offer_of, usable_shapes
from runs.models import Cluster
from workers.config.run import ComputeConfig
from workers.executors.base import NodeShape

STATED_GB = re.compile(r"(?<![0-9])([0-9]{1,3})[ _-]?gb?(?![a-z0-9])", re.IGNORECASE)
CARD_GB = {
    "h200": 141, "h100": 80, "l40s": 48, "a40": 48, "a6000": 48, "5090": 32, "a10g": 24, "a10": 24, "l4": 24,
    "4090": 24, "3090": 24, "t4": 16, "2080ti": 11, "1080ti": 11,
}  # fmt: skip
"""Type of GPU -> GB of memory, of types that exist with one size only, as NVIDIA's data sheets state."""
PARTS = re.compile(r"[a-z0-9]+", re.IGNORECASE)


@dataclass(frozen=True)
class ClusterGpus:
    """The most GPUs that a run can get: `gpus` on each of `nodes` nodes with `cores` cores.

    `card_gb`: memory of each in GB of 10⁹ bytes, None if its type does not state it. `has_gpu_type`: whether they are
    of the type that the run requests.
    """

    gpus: int
    nodes: int
    cores: int
    card_gb: float | None = None
    has_gpu_type: bool = True


def find_gpus(compute: ComputeConfig, cluster: Cluster) -> ClusterGpus | None:
    """Return the GPUs that a run with these requests can get, or None if the cluster's nodes are not known.

    Nodes of a cluster that adds nodes on demand are not known. A run stays in the partition that it names.
    """
    inventory = inventory_of(cluster)
    if not inventory.shapes or cluster.config.get("autoscales"):
        return None
    shapes = [shape for shape in usable_shapes(cluster) if _is_in_partition(shape, compute, cluster)]
    of_type = [s for s in shapes if s.gpus and s.gpu_type.casefold() == compute.gpu_type.casefold()]
    has_gpu_type = not compute.gpu_type or bool(of_type)
    pool = of_type if compute.gpu_type and of_type else [shape for shape in shapes if shape.gpus]
    if not pool:
        return ClusterGpus(0, 0, max((shape.cores for shape in shapes), default=0), has_gpu_type=has_gpu_type)
    best = max(pool, key=lambda shape: _preference(shape, compute))
    memory_gb = _smallest_card_gb(cluster) or card_gb(best.gpu_type)
    return ClusterGpus(best.gpus, _count(best, pool), best.cores, memory_gb, has_gpu_type)


def _smallest_card_gb(cluster: Cluster) -> float | None:
    """Return the memory of the smallest GPU of this machine in GB, or None if its driver does not report it."""
    known = [card.memory_mb for card in cards_of(cluster) if card.memory_mb]
    return min(known) * 2**20 / 1e9 if known else None


def describe_lack(cluster: Cluster) -> str:
    """Return why a cluster has no GPU for a run, with what helps, in brackets; empty if its nodes alone decide that."""
    offer = offer_of(cluster)
    return f" ({offer.reason})" if offer.reason and not offer.cards else ""


def card_gb(gpu_type: str) -> float | None:
    """Return the memory of a GPU of this type in GB, or None if the name neither states it nor implies it."""
    if stated := STATED_GB.findall(gpu_type):
        # A part of a card states its share of the compute before its memory: 1g.10gb.
        return float(stated[-1])
    return next((float(CARD_GB[part]) for part in PARTS.findall(gpu_type.casefold()) if part in CARD_GB), None)


def _is_in_partition(shape: NodeShape, compute: ComputeConfig, cluster: Cluster) -> bool:
    named: str = compute.partition or cluster.config.get("partition", "")
    return not named or not shape.partition or shape.partition in named.split(",")


def _preference(shape: NodeShape, compute: ComputeConfig) -> tuple[int, float]:
    """Return the usable GPUs of these nodes, and then their memory."""
    usable = min(shape.count, compute.nodes) * min(shape.gpus, compute.devices)
    return usable, card_gb(shape.gpu_type) or 0.0


def _count(best: NodeShape, pool: Sequence[NodeShape]) -> int:
    """Return the nodes of one partition that have at least the GPUs and cores of `best`, of the same type."""
    return sum(
        shape.count
        for shape in pool
        if (shape.partition, shape.gpu_type) == (best.partition, best.gpu_type)
        and shape.gpus >= best.gpus
        and shape.cores >= best.cores
    )
