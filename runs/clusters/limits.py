"""Check runs against a cluster's limits on GPUs, cores, memory and time, and against the partitions in its config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runs.models import Cluster
from workers.config import ConfigError, Problem, RunConfig

LIMITS = ("cores", "gpus", "memory_mb", "time_limit_seconds")
EXAMPLE = '{"gpus": 4, "time_limit_seconds": 86400}'
PARTITION_PATH = "compute.partition"


def check_fits(config: RunConfig, cluster: Cluster) -> None:
    """Raise ConfigError if the run requests more than the cluster's limits allow."""
    requested = {name: getattr(config.compute, name) for name in LIMITS}
    limits = cluster.config.get("limits", {})
    exceeded = [name for name in LIMITS if name in limits and requested[name] > limits[name]]
    if exceeded:
        raise ConfigError([Problem(f"compute.{n}", _limit_message(cluster, limits[n], requested[n])) for n in exceeded])


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


def _limit_message(cluster: Cluster, most: int, requested: float) -> str:
    return f"must be at most {most} on cluster {cluster.name}, not {requested:g}"


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
