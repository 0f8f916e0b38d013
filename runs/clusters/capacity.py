"""Check whether a cluster has the nodes that a run requests, so that no run waits for nodes that do not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runs.clusters.inventory import Inventory, count_text, gpu_types_of, inventory_of
from runs.clusters.limits import PARTITION_PATH, partitions_of
from runs.models import Cluster
from workers.config import ConfigError, Problem, RunConfig
from workers.config.run import ComputeConfig
from workers.executors.base import NodeShape

AMOUNTS = ("gpus", "cores", "memory_mb")
"""What a node has so much of, in the order in which a run is fitted to nodes."""


def check_capacity(config: RunConfig, cluster: Cluster) -> None:
    """Raise ConfigError for requests that no nodes of the cluster can meet, as far as its nodes are known.

    A cluster that adds nodes on demand may get any, so its present nodes refuse nothing.
    """
    inventory = inventory_of(cluster)
    if not inventory.shapes or cluster.config.get("autoscales"):
        return
    if problems := list(_problems(config.compute, cluster, inventory)):
        raise ConfigError([Problem(p.path, p.message + _age(inventory, cluster)) for p in problems])


def spelled_gpu_type(compute: ComputeConfig, cluster: Cluster) -> str:
    """Return the run's type of GPU as its cluster spells it, since runs may write h100 for H100."""
    if not compute.gpu_type:
        return ""
    types = {name.casefold(): name for name in gpu_types_of(inventory_of(cluster).shapes)}
    return types.get(compute.gpu_type.casefold(), compute.gpu_type)


@dataclass(frozen=True)
class _Pool:
    """Nodes on which a run may run. `place` names them; `type_words` is empty if the run takes any type of GPU."""

    shapes: Sequence[NodeShape]
    place: str
    type_words: str = ""

    def fitting(self, name: str, amount: int) -> list[NodeShape]:
        """Return the nodes with this amount. A node whose memory is unknown has any."""
        unknown = ("memory_mb", 0)
        return [s for s in self.shapes if getattr(s, name) >= amount or (name, getattr(s, name)) == unknown]

    def most(self, name: str) -> int:
        """Return the largest amount that a node has; 0 without nodes."""
        return max((getattr(shape, name) for shape in self.shapes), default=0)

    def count(self) -> int:
        """Return how many nodes a run can have, which are all in one partition."""
        counts: Counter[str] = Counter()
        for shape in self.shapes:
            counts[shape.partition] += shape.count
        return max(counts.values(), default=0)


def _problems(compute: ComputeConfig, cluster: Cluster, inventory: Inventory) -> Iterator[Problem]:
    """Yield every request that is impossible by itself. If there is none, yield the first that is impossible together
    with others."""
    partitions = _partitions(compute, cluster, inventory)
    in_partitions = [shape for shape in inventory.shapes if not partitions or shape.partition in partitions]
    if not in_partitions:
        yield Problem(PARTITION_PATH, _partition_message(compute, cluster, inventory))
        return
    place = f"cluster {cluster.name}"
    every = _Pool(in_partitions, f"partition {', '.join(partitions)} on {place}" if partitions else place)
    gpu_type = _gpu_type(compute, cluster)
    with_type = _Pool(
        [shape for shape in in_partitions if not gpu_type or shape.gpu_type.casefold() == gpu_type.casefold()],
        every.place,
        f" of type {gpu_type}" if gpu_type else "",
    )
    alone = list(_problems_alone(compute, cluster, every, with_type))
    yield from alone or _problems_together(compute, with_type)


def _problems_alone(compute: ComputeConfig, cluster: Cluster, every: _Pool, with_type: _Pool) -> Iterator[Problem]:
    if compute.nodes > every.count():
        yield Problem("compute.nodes", _nodes_message(compute, cluster, every))
    if compute.gpus and every.most("gpus") and not with_type.most("gpus"):
        yield Problem("compute.gpu_type", _type_message(compute, cluster, every))
    elif not with_type.fitting("gpus", compute.gpus):
        yield Problem("compute.gpus", _amount_message(compute, "gpus", with_type if with_type.shapes else every))
    for name in ("cores", "memory_mb"):
        if not every.fitting(name, getattr(compute, name)):
            yield Problem(f"compute.{name}", _amount_message(compute, name, every))


def _problems_together(compute: ComputeConfig, pool: _Pool) -> Iterator[Problem]:
    """Yield the first amount that no node has in addition to the amounts before it, else a number of nodes that is too
    large."""
    conditions: list[str] = []
    for name in AMOUNTS:
        amount = getattr(compute, name)
        if not (fitting := pool.fitting(name, amount)):
            yield Problem(f"compute.{name}", _amount_message(compute, name, pool, conditions))
            return
        pool = _Pool(fitting, pool.place, pool.type_words)
        if amount > (1 if name == "cores" else 0):
            conditions.append(_describe_amount(name, amount, pool))
    if compute.nodes > pool.count():
        message = f"must be at most {pool.count()}, not {compute.nodes}: so many nodes of {pool.place} have "
        yield Problem("compute.nodes", f"{message}{_join(conditions)} each")


def _partitions(compute: ComputeConfig, cluster: Cluster, inventory: Inventory) -> list[str]:
    """Return the partitions of which one must have all the run's nodes; an empty list for any."""
    named: str = compute.partition or cluster.config.get("partition", "")
    has_partitions = any(shape.partition for shape in inventory.shapes)
    return named.split(",") if named and has_partitions else []


def _gpu_type(compute: ComputeConfig, cluster: Cluster) -> str:
    """Return the type of GPU that the job requests, which may be the one in the cluster's config."""
    default: str = cluster.config.get("gpu_type", "")
    return (compute.gpu_type or default) if compute.gpus else ""


def _partition_message(compute: ComputeConfig, cluster: Cluster, inventory: Inventory) -> str:
    present = {shape.partition for shape in inventory.shapes}
    usable = [name for name in partitions_of(cluster) if present.intersection(name.split(","))]
    given = f"not {compute.partition!r}" if compute.partition else f"not the default {cluster.config['partition']!r}"
    if usable:
        return f"must be one of {', '.join(usable)}, {given}, which cluster {cluster.name} does not have"
    return (
        f"must be a partition that cluster {cluster.name} has and its config names, {given}; it has "
        f"{', '.join(sorted(present))}, and an admin can add them to the config"
    )


def _nodes_message(compute: ComputeConfig, cluster: Cluster, pool: _Pool) -> str:
    if cluster.kind == "local":
        return f"must be 1, not {compute.nodes}: cluster {cluster.name} is one machine"
    return f"must be at most {pool.count()}, not {compute.nodes}: {pool.place} has no more nodes"


def _type_message(compute: ComputeConfig, cluster: Cluster, pool: _Pool) -> str:
    types = ", ".join(gpu_types_of(pool.shapes))
    if not types:
        return f"must be empty, not {compute.gpu_type!r}: {pool.place} does not name the types of its GPUs"
    if compute.gpu_type:
        return f"must be one of {types} on {pool.place}, or empty, not {compute.gpu_type!r}"
    return f"must be one of {types} on {pool.place}, not empty: its config sets {cluster.config['gpu_type']!r} then"


def _amount_message(compute: ComputeConfig, name: str, pool: _Pool, conditions: Sequence[str] = ()) -> str:
    most, amount = pool.most(name), getattr(compute, name)
    nodes = f"no node of {pool.place}{f' with {_join(conditions)}' if conditions else ''}"
    if name == "gpus" and not most:
        return f"must be 0, not {amount}: {nodes} has GPUs"
    return f"must be at most {most}, not {amount}: {nodes} has more{pool.type_words if name == 'gpus' else ''}"


def _describe_amount(name: str, amount: int, pool: _Pool) -> str:
    if name == "gpus":
        return count_text(amount, "GPU") + pool.type_words
    return count_text(amount, "core") if name == "cores" else f"{amount} MB of memory"


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _age(inventory: Inventory, cluster: Cluster) -> str:
    """Return a remark on nodes that were read long ago; an empty text for others."""
    if inventory.read_at is None or not inventory.is_stale:
        return ""
    return f" (the nodes of {cluster.name} were last read at {inventory.read_at:%Y-%m-%d %H:%M} UTC)"
