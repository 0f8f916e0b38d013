"""Clusters: their settings and limits, executors, directories and connection tests."""

from runs.clusters.capacity import divides_gpus, spelled_gpu_type
from runs.clusters.commands import KINDS, add_cluster, change_cluster
from runs.clusters.executors import (
    EXECUTORS,
    cache_of,
    code_folder,
    executor_for,
    python_of,
    submit_host_of,
    timeouts_of,
)
from runs.clusters.inventory import gpu_types_of, inventory_of, refresh_due_inventory, usable_shapes
from runs.clusters.limits import check_fits, check_partition, partitions_of
from runs.clusters.offered_gpus import cards_of, describe_gpus, offer_of
from runs.clusters.orphan_jobs import describe_jobs, end_orphan, find_orphans
from runs.clusters.refusals import check_capacity
from runs.clusters.settings import Timeouts
from runs.clusters.views import cluster_edit, cluster_new, clusters

__all__ = [
    "EXECUTORS",
    "KINDS",
    "Timeouts",
    "add_cluster",
    "cache_of",
    "cards_of",
    "change_cluster",
    "check_capacity",
    "check_fits",
    "check_partition",
    "cluster_edit",
    "cluster_new",
    "clusters",
    "code_folder",
    "describe_gpus",
    "describe_jobs",
    "divides_gpus",
    "end_orphan",
    "executor_for",
    "find_orphans",
    "gpu_types_of",
    "inventory_of",
    "offer_of",
    "partitions_of",
    "python_of",
    "refresh_due_inventory",
    "spelled_gpu_type",
    "submit_host_of",
    "timeouts_of",
    "usable_shapes",
]
