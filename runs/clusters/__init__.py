"""Clusters: their settings and limits, executors, directories and connection tests."""

from runs.clusters.commands import KINDS, add_cluster, change_cluster
from runs.clusters.executors import EXECUTORS, Waits, cache_of, code_folder, executor_for, place_of, python_of, waits_of
from runs.clusters.limits import check_fits, check_partition, partitions_of
from runs.clusters.orphan_jobs import end_orphan, in_words, orphans
from runs.clusters.views import cluster_edit, cluster_new, clusters

__all__ = [
    "EXECUTORS",
    "KINDS",
    "Waits",
    "add_cluster",
    "cache_of",
    "change_cluster",
    "check_fits",
    "check_partition",
    "cluster_edit",
    "cluster_new",
    "clusters",
    "code_folder",
    "end_orphan",
    "executor_for",
    "in_words",
    "orphans",
    "partitions_of",
    "place_of",
    "python_of",
    "waits_of",
]
