"""Rules of settings that need more than the executor: this machine's folders, its timeouts, and limits."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from runs.clusters.settings.timeouts import Timeouts

LIMITS = {
    "cores": "cores", "gpus": "gpus", "memory_mb": "memory_mb", "time_limit_seconds": "time_limit_seconds",
    "nodes": "nodes", "total_gpus": "gpus",
}  # fmt: skip
"""Name of a limit -> the setting in `compute` at which a run beyond it is reported. Cores, GPUs and memory are those of
each node; total_gpus are those of all nodes."""
OTHER_CODE = ("warn", "refuse")
"""Actions of a node whose code differs from the pinned code. The first is the default."""
WANDB_PROJECT = re.compile(r"[A-Za-z0-9][\w.-]{0,127}/[A-Za-z0-9][\w.-]{0,127}", re.ASCII)


def is_project(value: Any) -> bool:
    """Return whether the value is a project at Weights & Biases, as entity/project."""
    return isinstance(value, str) and WANDB_PROJECT.fullmatch(value) is not None


def is_site_url(address: Any) -> bool:
    """Return whether the value is an address of this site without user, query and fragment, or empty."""
    if not address:
        return True
    try:
        parts = urlsplit(address if isinstance(address, str) else "nothing")
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_usable and parts.username is None and not parts.query and not parts.fragment


def timeout_errors(key: str, timeouts: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each error in the timeouts."""
    names = [field.name for field in dataclasses.fields(Timeouts)]
    if not isinstance(timeouts, dict):
        yield f"{key} must be an object of seconds; the names are {', '.join(names)}"
        return
    for name, seconds in timeouts.items():
        if name not in names:
            yield f"{key}: {name!r} is not a known name; the names are {', '.join(names)}"
        elif isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
            yield f"{key}: {name} must be a number of seconds, not {seconds!r}"


def limit_errors(key: str, limits: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each error in the limits."""
    if not isinstance(limits, dict):
        yield f'{key} must be an object such as {{"gpus": 4, "time_limit_seconds": 86400}}, not {limits!r}'
        return
    for name, most in limits.items():
        if name not in LIMITS:
            yield f"{key}: {name!r} is not a known name; the names are {', '.join(LIMITS)}"
        elif isinstance(most, bool) or not isinstance(most, int) or most < 0:
            yield f"{key}: {name} must be a whole number from 0, not {most!r}"


def folder_errors(key: str, folders: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each error in a list of folders. Those of a cluster over SSH are not on this machine."""
    if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
        yield f'{key} must be a list of folders such as ["/srv/esweb-data"], not {folders!r}'
        return
    for folder in folders:
        path = Path(folder)
        if not path.is_absolute() or ".." in path.parts:
            yield f"{key}: {folder!r} must be absolute and without .."
        elif os.pathsep in folder or "\x00" in folder:
            yield f"{key}: {folder!r} must hold no {os.pathsep}"
        elif path == path.parent:
            yield f"{key}: must be a folder, not the whole file system"
        elif not config.get("address") and not path.is_dir():
            yield f"{key}: {folder} is not a folder on this machine"


def server_folder_errors(key: str, folders: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each error in a list of folders that are on this machine, wherever the cluster is."""
    return folder_errors(key, folders, {})


def dashboard_errors(key: str, address: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for an address that is none, or whose host is not in ESWEB_RAY_HOSTS."""
    rule = f"{key} must be an address such as http://127.0.0.1:8265"
    try:
        parts = urlsplit(address if isinstance(address, str) and address.isprintable() else "")
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        yield f"{rule}, not {address!r}"
        return
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port or " " in parts.netloc:
        yield f"{rule}, not {address!r}"
    elif parts.username is not None or parts.query or parts.fragment:
        yield f"{rule}, without a name, a password, ? or #; put a token into the file of token_file"
    elif parts.hostname not in (allowed := [host.strip("[]").lower() for host in settings.RAY_HOSTS]):
        yield (
            f"{key}: {parts.hostname} is not one of the hosts with a Ray that this server may use, "
            f"{', '.join(allowed)}; its operator can add hosts to ESWEB_RAY_HOSTS"
        )
