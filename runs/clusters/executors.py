"""The executor of a cluster, how patient to be with it, and the folders on it that jobs use."""

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
from workers.executors.openssh import Access, Address, FarDisk, OpenSsh
from workers.executors.openssh.connection import Connection
from workers.executors.places import Place, SharedDisk
from workers.executors.ray import Ray
from workers.executors.ray import Site as RaySite
from workers.executors.shell import LocalShell
from workers.executors.slurm import Site, Slurm


def site_of(cluster: Cluster) -> Site:
    """What a Slurm cluster is like."""
    said = {
        field.name: cluster.config[field.name] for field in dataclasses.fields(Site) if field.name in cluster.config
    }
    return Site(**said)


def place_of(cluster: Cluster) -> Place:
    """Where its commands are run, and its jobs' directories lie."""
    config: Mapping[str, Any] = cluster.config
    if cluster.kind != "slurm":
        return SharedDisk()
    site = site_of(cluster)
    if not cluster.is_far:
        return SharedDisk(LocalShell(site.client_env))
    access = Access(Address.parse(config["address"]), config.get("key_file", ""), config.get("known_hosts", ""))
    ssh = OpenSsh(Connection(access), site.python, site.client_env)
    return FarDisk(ssh, PurePosixPath(config["folder"]), Path(settings.RUNS_DIR), settings.DATA_DIR / "code")


def cache_of(cluster: Cluster) -> str:
    """The folder on the cluster in which trainers keep what they need again, such as base models."""
    return f"{cluster.config['folder']}/cache" if cluster.is_far else str(settings.CACHE_DIR)


def code_folder(cluster: Cluster) -> PurePath:
    """The folder of code that attempts were given, as the cluster calls it."""
    return PurePosixPath(cluster.config["folder"]) / "code" if cluster.is_far else Path(settings.DATA_DIR) / "code"


@dataclass(frozen=True)
class Waits:
    """Seconds. The defaults are this machine's, where files are seen as soon as they are written and nothing lags."""

    grace: float = 60.0
    """From SIGTERM to SIGKILL: the time to save a checkpoint."""
    beat: float = 1.0
    """Between two heartbeats."""
    settle: float = 10.0
    """An exit record this old ends an attempt, whatever the cluster still says."""
    exit_record: float = 3.0
    """A job has ended: so long its exit record may still be on its way."""
    ambiguous: float = 5.0
    """A submit went unanswered: only after being told "no such job" for so long is it made again."""
    gone: float = 10.0
    """An attempt that its cluster does not know, and whose heart has stopped, is lost after this."""
    beat_stale: float = 15.0
    """A heart that has not beaten for so long is worth a word."""
    beat_lost: float = 600.0
    """Where "running" cannot be trusted: an attempt whose heart has not beaten for so long is lost."""
    never: float = 1800.0
    """A job of which its cluster says that it will not start is given up after this."""
    restart: float = 5.0
    """Before an attempt follows a failed one by itself; twice as long with each that is made."""
    restart_longest: float = 300.0
    """At most so long."""
    records: float = 300.0
    """So long it waits beyond that for what the failed one has left on a far disk, which may tell of a checkpoint."""


BY_KIND = {
    "local": Waits(),
    # Files come over a network, which may show old ones for a minute, and "completing" takes what it takes.
    "slurm": Waits(
        beat=15.0, settle=60.0, exit_record=90.0, ambiguous=120.0, gone=300.0, beat_stale=90.0, restart=15.0
    ),
    # A dashboard answers from what its head knows: "no such job" is true as soon as it is said.
    "ray": Waits(beat=15.0, settle=60.0, exit_record=90.0, ambiguous=60.0, gone=300.0, beat_stale=90.0, restart=15.0),
}


def waits_of(cluster: Cluster) -> Waits:
    """The cluster's own where its config says so, under `waits`. Raises TypeError for a name that is none."""
    return dataclasses.replace(BY_KIND[cluster.kind], **cluster.config.get("waits", {}))


def python_of(cluster: Cluster) -> str:
    """The interpreter that runs trainers there."""
    return str(cluster.config.get("python", sys.executable))


def _local(cluster: Cluster) -> Local:
    config: Mapping[str, Any] = cluster.config
    return Local(
        settings.DATA_DIR / "queue" / cluster.name,
        cores=int(config.get("cores", settings.LOCAL_SLOTS)),
        gpus=[str(device) for device in config.get("gpus", [])],
        beat_seconds=waits_of(cluster).beat,
    )


def _said(cluster: Cluster, site: type[RaySite]) -> dict[str, Any]:
    """What its config says of a site of that kind."""
    names = [field.name for field in dataclasses.fields(site)]
    return {name: cluster.config[name] for name in names if name in cluster.config}


def _slurm(cluster: Cluster) -> Slurm:
    queue = settings.DATA_DIR / "queue" / cluster.name
    return Slurm(site_of(cluster), queue, waits_of(cluster).beat, place_of(cluster))


def _ray(cluster: Cluster) -> Ray:
    return Ray(RaySite(**_said(cluster, RaySite)), settings.DATA_DIR / "queue" / cluster.name, waits_of(cluster).beat)


EXECUTORS: dict[str, Callable[[Cluster], Executor]] = {"local": _local, "slurm": _slurm, "ray": _ray}
"""Kind of cluster -> what makes its executor."""


def executor_for(cluster: Cluster) -> Executor:
    """The executor that reaches this cluster."""
    return EXECUTORS[cluster.kind](cluster)
