"""What a cluster's config may say of a machine that is reached over SSH. It names keys, and never holds one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workers.executors.openssh import Address, BadAddress

SSH_KEYS = ("address", "key_file", "known_hosts", "folder")
FILES = ("key_file", "known_hosts")
NEEDED = {
    "folder": "the folder on the cluster in which esweb keeps runs, such as /scratch/esweb",
    "python": "the interpreter there, such as /shared/venv/bin/python",
}


def ssh_complaints(config: dict[str, Any]) -> Iterator[str]:
    """Everything that is wrong with it."""
    if not config.get("address"):
        for key in [key for key in SSH_KEYS[1:] if config.get(key)]:
            yield f"{key} is only for a cluster that is reached over SSH: say its address too"
        return
    yield from _address(config["address"])
    for key, what in NEEDED.items():
        if not config.get(key):
            yield f"{key} must be said of a cluster that is reached over SSH: {what}"
    for key in FILES:
        if isinstance(path := config.get(key), str) and Path(path).is_absolute() and not Path(path).is_file():
            yield f"{key}: {path} is no file on this machine"
    if config.get("task_paths"):
        yield "task_paths cannot be said of a cluster that is reached over SSH: its folders are not seen from here"


def _address(address: Any) -> Iterator[str]:
    try:
        Address.parse(address if isinstance(address, str) else "")
    except BadAddress as error:
        yield f"address {error}"
