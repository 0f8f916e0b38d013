"""Build the executor of a cluster, its timeouts, and the paths of the folders on it that jobs use."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from django.conf import settings

from runs.models import Cluster
from workers.executors.base import Executor
from workers.executors.local import Local
from workers.executors.openssh import Access, Address, OpenSsh, RemoteDisk
from workers.executors.openssh.connection import Connection
from workers.executors.ray import Ray
from workers.executors.ray import Site as RaySite
from workers.executors.shell import LocalShell
from workers.executors.slurm import Site, Slurm
from workers.executors.submit_hosts import SharedDisk, SubmitHost


def site_of(cluster: Cluster) -> Site:
    """Return the Slurm settings from a cluster's config; missing keys take their defaults."""
    settings = {
        field.name: cluster.config[field.name] for field in dataclasses.fields(Site) if field.name in cluster.config
    }
    return Site(**settings)


def submit_host_of(cluster: Cluster) -> SubmitHost:
    """Return the host that runs the cluster's commands and holds its jobs' directories.

    This is a remote disk over SSH if it is a Slurm cluster with an address, else a disk that this machine shares.
    """
    config: Mapping[str, Any] = cluster.config
    if cluster.kind != "slurm":
        return SharedDisk()
    site = site_of(cluster)
    if not cluster.is_remote:
        return SharedDisk(LocalShell(site.client_env))
    access = Access(Address.parse(config["address"]), config.get("key_file", ""), config.get("known_hosts", ""))
    ssh = OpenSsh(Connection(access), site.python, site.client_env)
    return RemoteDisk(ssh, PurePosixPath(config["folder"]), Path(settings.RUNS_DIR), settings.DATA_DIR / "code")


def cache_of(cluster: Cluster) -> str:
    """Return the folder on the cluster in which trainers cache files such as base models."""
    return f"{cluster.config['folder']}/cache" if cluster.is_remote else str(settings.CACHE_DIR)


def code_folder(cluster: Cluster) -> PurePath:
    """Return the folder of the attempts' pinned code, as a path on the cluster."""
    return PurePosixPath(cluster.config["folder"]) / "code" if cluster.is_remote else Path(settings.DATA_DIR) / "code"


@dataclass(frozen=True)
class Timeouts:
    """Timeouts in seconds. The defaults are for this machine, on which files are visible without delay."""

    grace: float = 60.0
    """Time from SIGTERM to SIGKILL, in which the run can save a checkpoint."""
    beat: float = 1.0
    """Time between two heartbeats."""
    settle: float = 10.0
    """Age at which an exit record ends an attempt, even if the cluster does not report the end."""
    exit_record: float = 3.0
    """Time for which an exit record may still arrive after the job's end."""
    ambiguous: float = 5.0
    """Time for which the cluster must report "no such job" before a submit without a reply is repeated."""
    gone: float = 10.0
    """Time after which an attempt is lost if its cluster does not know it and its heartbeats have stopped."""
    beat_stale: float = 15.0
    """Time without a heartbeat after which esweb reports it."""
    beat_lost: float = 600.0
    """Time without a heartbeat after which an attempt is lost, if the cluster's "running" cannot be trusted."""
    never: float = 1800.0
    """Time after which a job fails if its cluster reports that it will never start."""
    restart: float = 5.0
    """Time before an automatic restart after a failure; it doubles with each restart."""
    restart_longest: float = 300.0
    """Upper limit of the time before an automatic restart."""
    records: float = 300.0
    """Further time for which a restart waits for the failed attempt's records on a remote disk, which may report a
    checkpoint.
    """
    inventory: float = 600.0
    """Time between two reads of the cluster's nodes."""


TIMEOUTS_BY_KIND = {
    "local": Timeouts(),
    # A network file system may show old files for a minute, and the state "completing" may last.
    "slurm": Timeouts(
        beat=15.0, settle=60.0, exit_record=90.0, ambiguous=120.0, gone=300.0, beat_stale=90.0, restart=15.0
    ),
    # The dashboard replies from the state of Ray's head node, so "no such job" is immediately reliable.
    "ray": Timeouts(
        beat=15.0, settle=60.0, exit_record=90.0, ambiguous=60.0, gone=300.0, beat_stale=90.0, restart=15.0
    ),
}


def timeouts_of(cluster: Cluster) -> Timeouts:
    """Return the timeouts of the cluster's kind, overridden by those in its config under `waits`.

    Raise TypeError for an unknown name.
    """
    return dataclasses.replace(TIMEOUTS_BY_KIND[cluster.kind], **cluster.config.get("waits", {}))


def python_of(cluster: Cluster) -> str:
    """Return the path of the interpreter that runs trainers on the cluster."""
    return str(cluster.config.get("python", sys.executable))


def _local(cluster: Cluster) -> Local:
    config: Mapping[str, Any] = cluster.config
    return Local(
        settings.DATA_DIR / "queue" / cluster.name,
        cores=int(config.get("cores", settings.LOCAL_SLOTS)),
        gpus=[str(device) for device in config.get("gpus", [])],
        beat_seconds=timeouts_of(cluster).beat,
        niceness=settings.RUN_NICENESS,
    )


def _configured_fields(cluster: Cluster, site: type[RaySite]) -> dict[str, Any]:
    """Return the fields of the class `site` that the cluster's config sets."""
    names = [field.name for field in dataclasses.fields(site)]
    return {name: cluster.config[name] for name in names if name in cluster.config}


def _slurm(cluster: Cluster) -> Slurm:
    queue = settings.DATA_DIR / "queue" / cluster.name
    return Slurm(site_of(cluster), queue, timeouts_of(cluster).beat, submit_host_of(cluster))


def _ray(cluster: Cluster) -> Ray:
    return Ray(
        RaySite(**_configured_fields(cluster, RaySite)),
        settings.DATA_DIR / "queue" / cluster.name,
        timeouts_of(cluster).beat,
    )


EXECUTORS: dict[str, Callable[[Cluster], Executor]] = {"local": _local, "slurm": _slurm, "ray": _ray}
"""Maps a kind of cluster to the function that builds its executor."""


def executor_for(cluster: Cluster) -> Executor:
    """Return the executor that runs jobs on this cluster."""
    return EXECUTORS[cluster.kind](cluster)
