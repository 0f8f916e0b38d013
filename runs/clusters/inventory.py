"""The nodes that a cluster has: read them from its scheduler, store them, and describe them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from runs.clusters.executors import executor_for, timeouts_of
from runs.clusters.limits import partitions_of
from runs.models import Cluster
from workers.executors.base import NodeShape, Unreachable

MAX_ROWS = 2000
MAX_NUMBER = 2**31 - 1
MAX_TEXT = 200
MAX_DESCRIBED = 12
STALE_AFTER = timedelta(hours=1)
FIELDS = [field.name for field in fields(NodeShape)]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Inventory:
    """Nodes of a cluster as they were at `read_at`, which is None for this machine and for a cluster that was never
    read. Without shapes nothing is known."""

    shapes: tuple[NodeShape, ...]
    read_at: datetime | None = None

    @property
    def is_stale(self) -> bool:
        """Return whether the nodes may have changed since they were read."""
        return self.read_at is not None and timezone.now() - self.read_at > STALE_AFTER


def inventory_of(cluster: Cluster) -> Inventory:
    """Return what is known of the cluster's nodes. That of this machine follows from its config."""
    if cluster.kind == "local":
        return Inventory(tuple(executor_for(cluster).node_shapes()))
    return Inventory(tuple(map(_shape, cluster.inventory)), cluster.inventory_at)


def usable_shapes(cluster: Cluster) -> tuple[NodeShape, ...]:
    """Return the nodes on which runs may run: those of the partitions that the cluster's config names, if it names any,
    else all."""
    shapes = inventory_of(cluster).shapes
    partitions = {name for named in partitions_of(cluster) for name in named.split(",")}
    return tuple(shape for shape in shapes if not partitions or shape.partition in ("", *partitions))


def gpu_types_of(shapes: Iterable[NodeShape]) -> list[str]:
    """Return the types of GPU that these nodes have, sorted, each once in the cluster's own spelling."""
    types = {shape.gpu_type.casefold(): shape.gpu_type for shape in shapes if shape.gpus and shape.gpu_type}
    return [types[key] for key in sorted(types)]


def refresh_inventory(cluster: Cluster) -> tuple[NodeShape, ...]:
    """Read the nodes from the cluster, store them, and return them. Raise Unreachable, or ValueError for a reply that
    cannot be stored. This machine's nodes are not stored."""
    shapes = tuple(executor_for(cluster).node_shapes())
    if cluster.kind == "local":
        return shapes
    _check(shapes)
    now = timezone.now()
    # A config that was changed meanwhile may belong to other nodes.
    same = Cluster.objects.filter(pk=cluster.pk, config=cluster.config)
    same.update(inventory=[asdict(shape) for shape in shapes], inventory_at=now, inventory_tried_at=now)
    return shapes


def refresh_due_inventory(cluster: Cluster) -> None:
    """Read the nodes again if that is due. A cluster that does not reply, or replies otherwise, keeps the last ones."""
    tried_at, now = cluster.inventory_tried_at, timezone.now()
    interval = timedelta(seconds=timeouts_of(cluster).inventory)
    if cluster.kind == "local" or (tried_at is not None and abs(now - tried_at) < interval):
        return
    Cluster.objects.filter(pk=cluster.pk).update(inventory_tried_at=now)
    try:
        refresh_inventory(cluster)
    except Unreachable as error:
        log.warning("Nodes of cluster %s cannot be read; retrying in %s: %s", cluster, interval, error)
    except Exception:
        log.exception("Cluster %s replied with no list of nodes; retrying in %s", cluster, interval)


def describe_shapes(shapes: Sequence[NodeShape]) -> str:
    """Return the nodes in words, such as "3 nodes with 4 cores and 2 GPUs (a100)"; those of partitions under their
    names."""
    texts = [f"{shape.partition}: {_describe(shape)}" if shape.partition else _describe(shape) for shape in shapes]
    others = len(texts) - MAX_DESCRIBED
    return "; ".join([*texts[:MAX_DESCRIBED], *([f"and {others} other kinds of nodes"] if others > 0 else [])])


def _describe(shape: NodeShape) -> str:
    text = f"{count_text(shape.count, 'node')} with {count_text(shape.cores, 'core')}"
    if not shape.gpus:
        return text
    shards = f"{shape.gpu_shards // shape.gpus} shards each" if shape.gpu_shards else ""
    details = ", ".join(filter(None, (shape.gpu_type, shards)))
    return f"{text} and {count_text(shape.gpus, 'GPU')}{f' ({details})' if details else ''}"


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 core" or "2 cores"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shape(row: Mapping[str, Any]) -> NodeShape:
    """Return a stored row as nodes. Another version's fields are ignored."""
    return NodeShape(**{name: row[name] for name in FIELDS if name in row})


def _check(shapes: Sequence[NodeShape]) -> None:
    """Raise ValueError if the reply of a cluster is larger than any real one, or holds text that is none."""
    if len(shapes) > MAX_ROWS:
        raise ValueError(f"a cluster with {len(shapes)} kinds of nodes; at most {MAX_ROWS} are stored")
    for shape in shapes:
        numbers = (shape.count, shape.cores, shape.memory_mb, shape.gpus, shape.gpu_shards)
        if not all(0 <= number <= MAX_NUMBER for number in numbers):
            raise ValueError(f"the numbers of nodes must be between 0 and {MAX_NUMBER}, not {numbers}")
        for text in (shape.gpu_type, shape.partition):
            if len(text) > MAX_TEXT or not text.isprintable():
                raise ValueError(f"names must be at most {MAX_TEXT} printable characters, not {text[:MAX_TEXT]!r}")
