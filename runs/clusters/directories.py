"""Where a cluster's commands are run, where its jobs' directories lie, and what it calls the folders they need."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from django.conf import settings

from runs.models import Cluster
from workers.executors.openssh import Access, Address, FarDisk, OpenSsh
from workers.executors.openssh.connection import Connection
from workers.executors.places import Place, SharedDisk
from workers.executors.shell import LocalShell
from workers.executors.slurm import Site


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
