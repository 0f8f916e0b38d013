"""Clusters: their settings and limits, executors, directories and connection tests."""

from runs.clusters.directories import cache_of, code_folder, place_of
from runs.clusters.executors import EXECUTORS, Waits, executor_for, python_of, waits_of
from runs.clusters.limits import check_fits, check_partition, partitions_of
from runs.clusters.views import cluster_edit, cluster_new, clusters

__all__ = [
    "EXECUTORS",
    "Waits",
    "cache_of",
    "check_fits",
    "check_partition",
    "cluster_edit",
    "cluster_new",
    "clusters",
    "code_folder",
    "executor_for",
    "partitions_of",
    "place_of",
    "python_of",
    "waits_of",
]
