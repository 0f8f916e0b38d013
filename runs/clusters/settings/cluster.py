"""Check a cluster's config: its keys, their values, and an error message for each problem."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runs.clusters.executors import Timeouts
from runs.clusters.limits import limit_errors
from runs.clusters.settings.ray import RAY_EXAMPLE, RAY_KEYS, ray_errors
from runs.clusters.settings.slurm import SLURM_EXAMPLE, SLURM_KEYS, slurm_errors

COMMON = ("waits", "task_paths", "data_paths", "wandb_projects", "site_url", "other_code", "limits")
KEYS = {
    "local": ("cores", "gpus", *COMMON),
    "slurm": (*SLURM_KEYS, *COMMON),
    "ray": (*RAY_KEYS, *COMMON),
}
EXAMPLES = {
    "local": '{"cores": 4, "gpus": ["0", "1"], "task_paths": ["/srv/esweb-tasks"], "data_paths": ["/srv/esweb-data"]}',
    "slurm": SLURM_EXAMPLE,
    "ray": RAY_EXAMPLE,
}
WANDB_PROJECT = re.compile(r"[A-Za-z0-9][\w.-]{0,127}/[A-Za-z0-9][\w.-]{0,127}", re.ASCII)
MAX_CONFIG_LENGTH = 100_000
"""Characters of a config's JSON."""
OTHER_CODE = ("warn", "refuse")
"""Actions of a node whose code differs from the pinned code. The first is the default."""


def config_errors(config: Any, kind: str = "local") -> Iterator[str]:
    """Yield a message for each error in the config of a cluster of this kind. Each names what is valid."""
    if not isinstance(config, dict):
        yield f"must be an object such as {EXAMPLES[kind]}"
        return
    if (length := len(json.dumps(config))) > MAX_CONFIG_LENGTH:
        yield f"must have at most {MAX_CONFIG_LENGTH} characters of JSON, not {length}"
        return
    for key in sorted(config.keys() - set(KEYS[kind])):
        yield f"{key!r} is not a known key; the keys are {', '.join(KEYS[kind])}"
    yield from ERRORS_BY_KIND[kind](config)
    yield from _timeout_errors(config.get("waits", {}))
    for key in ("task_paths", "data_paths"):
        yield from _folder_errors(key, config.get(key, []), is_here=not config.get("address"))
    yield from _project_errors(config.get("wandb_projects", []))
    yield from _site_url_errors(config.get("site_url", ""))
    yield from limit_errors(config.get("limits", {}))
    if (value := config.get("other_code", OTHER_CODE[0])) not in OTHER_CODE:
        yield f"other_code must be one of {', '.join(OTHER_CODE)}, not {value!r}"


def _machine_errors(config: dict[str, Any]) -> Iterator[str]:
    if not _is_count(config.get("cores", 1)):
        yield f"cores must be a whole number from 1, not {config['cores']!r}"
    gpus = config.get("gpus", [])
    if not isinstance(gpus, list) or not all(isinstance(gpu, str) for gpu in gpus):
        yield f'gpus must be a list of device names such as ["0", "1"], not {gpus!r}'


ERRORS_BY_KIND: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "local": _machine_errors,
    "slurm": slurm_errors,
    "ray": ray_errors,
}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _project_errors(projects: Any) -> Iterator[str]:
    if not isinstance(projects, list) or not all(isinstance(p, str) and WANDB_PROJECT.fullmatch(p) for p in projects):
        yield f'wandb_projects must be a list of projects as entity/project, such as ["my-team/es"], not {projects!r}'


def _timeout_errors(timeouts: Any) -> Iterator[str]:
    names = [field.name for field in dataclasses.fields(Timeouts)]
    if not isinstance(timeouts, dict):
        yield f"waits must be an object of seconds; the names are {', '.join(names)}"
        return
    for name, seconds in timeouts.items():
        if name not in names:
            yield f"waits: {name!r} is not a known name; the names are {', '.join(names)}"
        elif isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
            yield f"waits: {name} must be a number of seconds, not {seconds!r}"


def _site_url_errors(address: Any) -> Iterator[str]:
    try:
        parts = urlsplit(address if isinstance(address, str) else "nothing")
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if address and not (is_usable and parts.username is None and not parts.query and not parts.fragment):
        yield f"site_url must be this site's address as nodes call it, such as https://esweb.example, not {address!r}"


def _folder_errors(key: str, folders: Any, *, is_here: bool) -> Iterator[str]:
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
        elif is_here and not path.is_dir():
            yield f"{key}: {folder} is not a folder on this machine"
