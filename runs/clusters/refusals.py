"""Refuse launches that the nodes of a cluster cannot run, and name what would allow them."""

from __future__ import annotations

import dataclasses

from runs.clusters.capacity import capacity_problems
from runs.clusters.inventory import inventory_of
from runs.clusters.limits import partitions_of
from runs.clusters.offered_gpus import offer_of
from runs.models import Cluster
from workers.config import ConfigError, Problem, RunConfig
from workers.config.run import ComputeConfig

MAX_NAMED = 3
UNSEEN = "; if its jobs see GPUs all the same, an admin can name them with gpus in its config (Settings → Clusters)"
AMOUNT_PATHS = ("compute.gpus", "compute.gpu_type", "compute.cores", "compute.memory_mb", "compute.nodes")


def check_capacity(config: RunConfig, cluster: Cluster) -> None:
    """Raise ConfigError for requests that no nodes of the cluster can meet, as far as its nodes are known.

    The message of each names the valid values, and the setting that would allow it.
    """
    problems = capacity_problems(config.compute, cluster)
    if not problems:
        return
    elsewhere = _elsewhere(config.compute, cluster) if any(p.path in AMOUNT_PATHS for p in problems) else ""
    ends = {problem.path: _remedy(problem.path, cluster) + elsewhere + _age(cluster) for problem in problems}
    raise ConfigError([Problem(problem.path, problem.message + ends[problem.path]) for problem in problems])


def _remedy(path: str, cluster: Cluster) -> str:
    """Return what an admin can change so that the cluster allows more; empty if nothing does."""
    if cluster.kind == "local" and path == "compute.gpus":
        offer = offer_of(cluster)
        unseen = "" if offer.has_driver else UNSEEN
        return f"; {offer.reason}{unseen}" if offer.reason else ""
    if cluster.kind == "local" and path == "compute.cores":
        return "; an admin can set cores in its config, by default those of ESWEB_LOCAL_SLOTS (Settings → Clusters)"
    if cluster.kind == "ray" and path in AMOUNT_PATHS:
        return "; if it adds nodes on demand, an admin can set autoscales in its config (Settings → Clusters)"
    return ""


def _elsewhere(compute: ComputeConfig, cluster: Cluster) -> str:
    """Return the other partitions of the cluster, else the other clusters, that have the nodes; empty if none has."""
    partitions = [
        name
        for name in partitions_of(cluster)
        if name != compute.partition and not capacity_problems(dataclasses.replace(compute, partition=name), cluster)
    ]
    if partitions:
        return f"; compute.partition {' or '.join(partitions[:MAX_NAMED])} has such nodes"
    anywhere = dataclasses.replace(compute, partition="")
    clusters = [
        other.name
        for other in Cluster.objects.exclude(pk=cluster.pk).order_by("name")
        if inventory_of(other).shapes and not capacity_problems(anywhere, other)
    ]
    return f"; compute.cluster {' or '.join(clusters[:MAX_NAMED])} has such nodes" if clusters else ""


def _age(cluster: Cluster) -> str:
    """Return a remark on nodes that were read long ago; an empty text for others."""
    inventory = inventory_of(cluster)
    if inventory.read_at is None or not inventory.is_stale:
        return ""
    return f" (the nodes of {cluster.name} were last read at {inventory.read_at:%Y-%m-%d %H:%M} UTC)"
