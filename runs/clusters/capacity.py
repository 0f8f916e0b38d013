"""Find requests of a run that no nodes of its cluster can meet, so that no run waits for nodes that do not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runs.clusters.inventory import Inventory, count_text, gpu_types_of, inventory_of
from runs.clusters.limits import PARTITION_PATH, partitions_of
from runs.models import Cluster
from workers.config import Problem
from workers.config.run import ComputeConfig
from workers.executors.base import NodeShape

AMOUNTS = ("gpus", "cores", "memory_mb")
"""What a node has so much of, in the order in which a run is fitted to nodes."""


def capacity_problems(compute: ComputeConfig, cluster: Cluster) -> list[Problem]:
    """Return the requests that no nodes of the cluster can meet, as far as its nodes are known.

    A cluster that adds nodes on demand may get any, so its present nodes refuse nothing.
    """
    inventory = inventory_of(cluster)
    if not inventory.shapes or cluster.config.get("autoscales"):
        return []
    return list(_problems(compute, cluster, inventory))


def spelled_gpu_type(compute: ComputeConfig, cluster: Cluster) -> str:
    """Return the run's type of GPU as its cluster spells it, since runs may write h100 for H100."""
    if not compute.gpu_type:
        return ""
    types = {name.casefold(): name for name in gpu_types_of(inventory_of(cluster).shapes)}
    return types.get(compute.gpu_type.casefold(), compute.gpu_type)


def divides_gpus(cluster: Cluster, compute: ComputeConfig) -> bool:
    """Return whether several runs can share a GPU of the nodes on which such a run may run.

    This machine and Ray divide any GPU, Slurm those of nodes with shards; a Slurm whose nodes are not known is taken
    to have none.
    """
    if cluster.kind != "slurm":
        return True
    inventory = inventory_of(cluster)
    return bool(_with_type(compute, cluster, _in_partitions(compute, cluster, inventory)).dividing())


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

    def dividing(self) -> list[NodeShape]:
        """Return the nodes of a Slurm whose GPUs are divided into shards."""
        return [shape for shape in self.shapes if shape.gpu_shards >= shape.gpus > 0]

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
    every = _in_partitions(compute, cluster, inventory)
    if not every.shapes:
        yield Problem(PARTITION_PATH, _partition_message(compute, cluster, inventory))
        return
    with_type = _with_type(compute, cluster, every)
    alone = list(_problems_alone(compute, cluster, every, with_type))
    yield from alone or _problems_together(compute, with_type)


def _problems_alone(compute: ComputeConfig, cluster: Cluster, every: _Pool, with_type: _Pool) -> Iterator[Problem]:
    if compute.nodes > every.count():
        yield Problem("compute.nodes", _nodes_message(compute, cluster, every))
    if compute.devices and every.most("gpus") and not with_type.most("gpus"):
        yield Problem("compute.gpu_type", _type_message(compute, cluster, every))
    elif not with_type.fitting("gpus", compute.devices):
        yield Problem("compute.gpus", _amount_message(compute, "gpus", with_type if with_type.shapes else every))
    elif cluster.kind == "slurm" and _is_fraction(compute) and not with_type.dividing():
        yield Problem("compute.gpus", _share_message(compute, every, with_type))
    for name in ("cores", "memory_mb"):
        if not every.fitting(name, getattr(compute, name)):
            yield Problem(f"compute.{name}", _amount_message(compute, name, every))


def _problems_together(compute: ComputeConfig, pool: _Pool) -> Iterator[Problem]:
    """Yield the first amount that no node has in addition to the amounts before it, else a number of nodes that is too
    large."""
    conditions: list[str] = []
    for name in AMOUNTS:
        amount = compute.devices if name == "gpus" else getattr(compute, name)
        if not (fitting := pool.fitting(name, amount)):
            yield Problem(f"compute.{name}", _amount_message(compute, name, pool, conditions))
            return
        pool = _Pool(fitting, pool.place, pool.type_words)
        if amount > (1 if name == "cores" else 0):
            conditions.append(_describe_amount(name, amount, pool))
    if compute.nodes > pool.count():
        message = f"must be at most {pool.count()}, not {compute.nodes}: so many nodes of {pool.place} have "
        yield Problem("compute.nodes", f"{message}{_join(conditions)} each")


def _is_fraction(compute: ComputeConfig) -> bool:
    """Return whether the run requests a stated fraction of a GPU. auto takes a whole one where none are divided."""
    return compute.shares_gpu and compute.gpu_share is not None


def _in_partitions(compute: ComputeConfig, cluster: Cluster, inventory: Inventory) -> _Pool:
    partitions = _partitions(compute, cluster, inventory)
    shapes = [shape for shape in inventory.shapes if not partitions or shape.partition in partitions]
    place = f"cluster {cluster.name}"
    return _Pool(shapes, f"partition {', '.join(partitions)} on {place}" if partitions else place)


def _with_type(compute: ComputeConfig, cluster: Cluster, every: _Pool) -> _Pool:
    gpu_type = _gpu_type(compute, cluster)
    shapes = [s for s in every.shapes if not gpu_type or s.gpu_type.casefold() == gpu_type.casefold()]
    return _Pool(shapes, every.place, f" of type {gpu_type}" if gpu_type else "")


def _partitions(compute: ComputeConfig, cluster: Cluster, inventory: Inventory) -> list[str]:
    """Return the partitions of which one must have all the run's nodes; an empty list for any."""
    named: str = compute.partition or cluster.config.get("partition", "")
    has_partitions = any(shape.partition for shape in inventory.shapes)
    return named.split(",") if named and has_partitions else []


def _gpu_type(compute: ComputeConfig, cluster: Cluster) -> str:
    """Return the type of GPU that the job requests, which may be the one in the cluster's config."""
    default: str = cluster.config.get("gpu_type", "")
    return (compute.gpu_type or default) if compute.devices else ""


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


def _share_message(compute: ComputeConfig, every: _Pool, with_type: _Pool) -> str:
    """Return why a fraction of a GPU is refused, with the nodes that do divide theirs."""
    message = (
        f"must be a whole number, not {compute.gpus}: no node of {every.place} divides its GPUs{with_type.type_words} "
        "into shards (gres/shard in slurm.conf), by which runs share a GPU"
    )
    types = ", ".join(gpu_types_of(every.dividing()))
    return f"{message}; those of type {types} are divided" if types else message


def _describe_amount(name: str, amount: int, pool: _Pool) -> str:
    if name == "gpus":
        return count_text(amount, "GPU") + pool.type_words
    return count_text(amount, "core") if name == "cores" else f"{amount} MB of memory"


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
