"""Check runs against a cluster's limits on nodes, GPUs, cores, memory and time, and against its config's partitions."""

from __future__ import annotations

from runs.clusters.settings.rules import LIMITS
from runs.models import Cluster
from workers.config import ConfigError, Problem, RunConfig
from workers.config.run import ComputeConfig

PARTITION_PATH = "compute.partition"


def check_fits(config: RunConfig, cluster: Cluster) -> None:
    """Raise ConfigError if the run requests more than the cluster's limits allow."""
    limits = cluster.config.get("limits", {})
    exceeded = [name for name in LIMITS if name in limits and _requested(config.compute, name) > limits[name]]
    if exceeded:
        raise ConfigError(
            [Problem(f"compute.{LIMITS[n]}", _limit_message(config.compute, cluster, n, limits[n])) for n in exceeded]
        )


def _requested(compute: ComputeConfig, name: str) -> float:
    """Return the amount that counts against a limit. A run that shares a GPU counts with its fraction, auto as 1."""
    if name == "total_gpus" or (name == "gpus" and compute.shares_gpu):
        return compute.all_gpus
    amount: float = getattr(compute, name)
    return amount


def _limit_message(compute: ComputeConfig, cluster: Cluster, name: str, most: int) -> str:
    if name == "total_gpus":
        amount = f"{compute.all_gpus:g} ({compute.nodes} × {compute.gpus})"
        request = f"on all nodes together on cluster {cluster.name}, not {amount}"
    else:
        request = f"on cluster {cluster.name}, not {getattr(compute, name)}"
    return f"must be at most {most} {request}; an admin can change limits.{name} in its config (Settings → Clusters)"


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
