"""Build the executor of a cluster, its timeouts, and the paths of the folders on it that jobs use."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path, PurePath, PurePosixPath

from django.conf import settings

from runs.clusters.offered_gpus import cards_of
from runs.clusters.settings import TIMEOUTS_BY_KIND, LocalSite, SlurmSite, Timeouts, site_of
from runs.models import Cluster
from workers.executors.base import Executor
from workers.executors.local import Local
from workers.executors.openssh import Access, Address, OpenSsh, RemoteDisk
from workers.executors.openssh.connection import Connection
from workers.executors.ray import Ray
from workers.executors.shell import LocalShell
from workers.executors.slurm import Slurm
from workers.executors.submit_hosts import SharedDisk, SubmitHost


def submit_host_of(cluster: Cluster) -> SubmitHost:
    """Return the host that runs the cluster's commands and holds its jobs' directories.

    This is a remote disk over SSH if it is a Slurm cluster with an address, else a disk that this machine shares.
    """
    if cluster.kind != "slurm":
        return SharedDisk()
    site: SlurmSite = site_of(cluster)
    if not site.address:
        return SharedDisk(LocalShell(site.client_env))
    access = Access(Address.parse(site.address), site.key_file, site.known_hosts)
    ssh = OpenSsh(Connection(access), site.python, site.client_env)
    return RemoteDisk(ssh, PurePosixPath(site.folder), Path(settings.RUNS_DIR), settings.DATA_DIR / "code")


def cache_of(cluster: Cluster) -> str:
    """Return the folder on the cluster in which trainers cache files such as base models."""
    return f"{cluster.config['folder']}/cache" if cluster.is_remote else str(settings.CACHE_DIR)


def code_folder(cluster: Cluster) -> PurePath:
    """Return the folder of the attempts' pinned code, as a path on the cluster."""
    return PurePosixPath(cluster.config["folder"]) / "code" if cluster.is_remote else Path(settings.DATA_DIR) / "code"


def timeouts_of(cluster: Cluster) -> Timeouts:
    """Return the timeouts of the cluster's kind, overridden by those in its config under `waits`.

    Raise TypeError for an unknown name.
    """
    return dataclasses.replace(TIMEOUTS_BY_KIND[cluster.kind], **cluster.config.get("waits", {}))


def python_of(cluster: Cluster) -> str:
    """Return the path of the interpreter that runs trainers on the cluster."""
    return str(cluster.config.get("python", sys.executable))


def _local(cluster: Cluster) -> Local:
    site: LocalSite = site_of(cluster)
    return Local(
        settings.DATA_DIR / "queue" / cluster.name,
        cores=int(site.cores or settings.LOCAL_SLOTS),
        gpus=cards_of(cluster),
        beat_seconds=timeouts_of(cluster).beat,
        niceness=settings.RUN_NICENESS,
        uses_mps=site.mps,
    )


def _slurm(cluster: Cluster) -> Slurm:
    queue = settings.DATA_DIR / "queue" / cluster.name
    return Slurm(site_of(cluster), queue, timeouts_of(cluster).beat, submit_host_of(cluster))


def _ray(cluster: Cluster) -> Ray:
    return Ray(site_of(cluster), settings.DATA_DIR / "queue" / cluster.name, timeouts_of(cluster).beat)


EXECUTORS: dict[str, Callable[[Cluster], Executor]] = {"local": _local, "slurm": _slurm, "ray": _ray}
"""Maps a kind of cluster to the function that builds its executor."""


def executor_for(cluster: Cluster) -> Executor:
    """Return the executor that runs jobs on this cluster."""
    return EXECUTORS[cluster.kind](cluster)
