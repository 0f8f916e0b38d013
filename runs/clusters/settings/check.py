"""Check a cluster's config: its keys, their values, and an error message for each problem."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from runs.clusters.settings.site import EXAMPLES, KEYS, SITES
from workers.config.fields import hints
from workers.executors.openssh import Address, BadAddress

MAX_CONFIG_LENGTH = 100_000
"""Characters of a config's JSON."""
REQUIRED_SSH_KEYS = {
    "folder": "the folder on the cluster in which esweb stores runs, such as /scratch/esweb",
    "python": "the interpreter there, such as /shared/venv/bin/python",
}


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
    if kind == "slurm":
        yield from _ssh_errors(config)
    site: type = SITES[kind]
    for field in dataclasses.fields(site):
        is_required = field.default is field.default_factory is dataclasses.MISSING
        if field.name in config or is_required:
            for rule in get_args(hints(site)[field.name])[1:]:
                yield from rule(field.name, config.get(field.name, ""), config)


def _ssh_errors(config: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each error in the SSH keys of a Slurm cluster's config, which depend on each other."""
    if not config.get("address"):
        for key in ("key_file", "known_hosts", "folder"):
            if config.get(key):
                yield f"{key} is only for a cluster that is reached over SSH; set address too"
        return
    try:
        Address.parse(config["address"] if isinstance(config["address"], str) else "")
    except BadAddress as error:
        yield f"address {error}"
    for key, description in REQUIRED_SSH_KEYS.items():
        if not config.get(key):
            yield f"{key} is required for a cluster that is reached over SSH: {description}"
    for key in ("key_file", "known_hosts"):
        if isinstance(path := config.get(key), str) and Path(path).is_absolute() and not Path(path).is_file():
            yield f"{key}: {path} is not a file on this machine"
    if config.get("task_paths"):
        yield (
            "task_paths cannot be set for a cluster that is reached over SSH, because this machine cannot read its "
            "folders"
        )
