"""Check runs against a cluster's limits on nodes, GPUs, cores, memory and time, and against its config's partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runs.models import Cluster
from workers.config import ConfigError, Problem, RunConfig
from workers.config.run import ComputeConfig

LIMITS = {
    "cores": "cores", "gpus": "gpus", "memory_mb": "memory_mb", "time_limit_seconds": "time_limit_seconds",
    "nodes": "nodes", "total_gpus": "gpus",
}  # fmt: skip
"""Name of a limit -> the setting in `compute` at which a run beyond it is reported. Cores, GPUs and memory are those of
each node; total_gpus are those of all nodes."""
EXAMPLE = '{"gpus": 4, "time_limit_seconds": 86400}'
PARTITION_PATH = "compute.partition"


def check_fits(config: RunConfig, cluster: Cluster) -> None:
    """Raise ConfigError if the run requests more than the cluster's limits allow."""
    limits = cluster.config.get("limits", {})
    exceeded = [name for name in LIMITS if name in limits and _requested(config.compute, name) > limits[name]]
    if exceeded:
        raise ConfigError(
            [Problem(f"compute.{LIMITS[n]}", _limit_message(config.compute, cluster, n, limits[n])) for n in exceeded]
        )


def limit_errors(limits: Any) -> Iterator[str]:
    """Yield a sentence for each error in the limits of a cluster's config."""
    if not isinstance(limits, dict):
        yield f"limits must be an object such as {EXAMPLE}, not {limits!r}"
        return
    for name, most in limits.items():
        if name not in LIMITS:
            yield f"limits: {name!r} is not a known name; the names are {', '.join(LIMITS)}"
        elif isinstance(most, bool) or not isinstance(most, int) or most < 0:
            yield f"limits: {name} must be a whole number from 0, not {most!r}"


def _requested(compute: ComputeConfig, name: str) -> int:
    amount: int = compute.all_gpus if name == "total_gpus" else getattr(compute, name)
    return amount


def _limit_message(compute: ComputeConfig, cluster: Cluster, name: str, most: int) -> str:
    requested = _requested(compute, name)
    if name == "total_gpus":
        product = f"{compute.nodes} × {compute.gpus}"
        return f"must be at most {most} on all nodes together on cluster {cluster.name}, not {requested} ({product})"
    return f"must be at most {most} on cluster {cluster.name}, not {requested}"


def partitions_of(cluster: Cluster) -> list[str]:
    """Return the partitions that the cluster's config names. The first is the default of runs without a partition."""
    named = [cluster.config.get("partition", ""), *cluster.config.get("partitions", [])]
    return list(dict.fromkeys(filter(None, named)))


def check_partition(config: RunConfig, cluster: Cluster) -> None:
    """Raise ConfigError if the run's partition is not one that the cluster's config names."""
    partition, partitions = config.compute.partition, partitions_of(cluster)
    if not partition or partition in partitions:
        return
    if partitions:
        names = ", ".join(partitions)
        message = f"must be one of {names} on cluster {cluster.name}, or empty for the first, not {partition!r}"
    else:
        message = f"must be empty: cluster {cluster.name} names no partitions in its config, not {partition!r}"
    raise ConfigError([Problem(PARTITION_PATH, message)])
