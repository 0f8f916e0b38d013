"""Check the config of a Slurm cluster. Each word in it becomes one argument of a command; no shell reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from workers.executors.openssh import Address, BadAddress
from workers.executors.slurm.site import SECRET, VARIABLE, WORD

SSH_KEYS = ("address", "key_file", "known_hosts", "folder")
FILES = ("key_file", "known_hosts")
REQUIRED_SSH_KEYS = {
    "folder": "the folder on the cluster in which esweb stores runs, such as /scratch/esweb",
    "python": "the interpreter there, such as /shared/venv/bin/python",
}
WORDS = ("partition", "account", "qos", "constraint", "gpu_type")
SLURM_EXAMPLE = '{"partition": "gpu", "account": "lab", "modules": ["cuda/12.4"], "env": {"HF_HOME": "/shared/hf"}}'
LETTERS = "letters, digits and _ . , : / + @ = -, beginning with a letter, a digit or _"


def ssh_errors(config: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each error in the SSH keys of a Slurm cluster's config."""
    if not config.get("address"):
        for key in [key for key in SSH_KEYS[1:] if config.get(key)]:
            yield f"{key} is only for a cluster that is reached over SSH; set address too"
        return
    yield from _address(config["address"])
    for key, description in REQUIRED_SSH_KEYS.items():
        if not config.get(key):
            yield f"{key} is required for a cluster that is reached over SSH: {description}"
    for key in FILES:
        if isinstance(path := config.get(key), str) and Path(path).is_absolute() and not Path(path).is_file():
            yield f"{key}: {path} is not a file on this machine"
    if config.get("task_paths"):
        yield (
            "task_paths cannot be set for a cluster that is reached over SSH, because this machine cannot read its "
            "folders"
        )


def _address(address: Any) -> Iterator[str]:
    try:
        Address.parse(address if isinstance(address, str) else "")
    except BadAddress as error:
        yield f"address {error}"


PATHS = ("python", "project", "slurm_conf", "folder", *FILES)
SLURM_KEYS = (
    *WORDS,
    "partitions",
    "time_limit_seconds",
    "modules",
    "env",
    "python",
    "project",
    "slurm_conf",
    *SSH_KEYS,
)


def slurm_errors(config: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each error in the keys that only Slurm clusters have."""
    yield from ssh_errors(config)
    for key in WORDS:
        if key in config and not _is_word(config[key]):
            yield f"{key} must be one word of {LETTERS}, not {config[key]!r}"
    limit = config.get("time_limit_seconds", 0)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        yield f"time_limit_seconds must be a whole number from 0, not {limit!r}"
    partitions = config.get("partitions", [])
    if not isinstance(partitions, list) or not all(_is_word(partition) for partition in partitions):
        yield f'partitions must be a list such as ["gpu", "cpu"], each one word of {LETTERS}, not {partitions!r}'
    modules = config.get("modules", [])
    if not isinstance(modules, list) or not all(_is_word(module) for module in modules):
        yield f'modules must be a list such as ["cuda/12.4"], each one word of {LETTERS}, not {modules!r}'
    yield from variable_errors(config.get("env", {}))
    yield from path_errors(config, PATHS)


def variable_errors(env: Any) -> Iterator[str]:
    """Yield a message for each error in the environment variables that jobs get."""
    if not isinstance(env, dict):
        yield f'env must be an object such as {{"HF_HOME": "/shared/hf"}}, not {env!r}'
        return
    for name, value in env.items():
        if not VARIABLE.fullmatch(name):
            yield f"env: {name!r} is not a valid name of a variable; use letters, digits and _"
        elif SECRET.search(name):
            yield f"env: {name} looks like a secret, and everybody on a node can read a job's environment; use a file"
        elif not isinstance(value, str) or not value.isprintable():
            yield f"env: {name} must be text of one line, not {value!r}"


def path_errors(config: dict[str, Any], keys: Iterable[str]) -> Iterator[str]:
    """Yield a message for each of these keys with a value that is not an absolute path. Missing keys are valid."""
    for key in keys:
        path = config.get(key, "/")
        if (
            not isinstance(path, str)
            or not path.isprintable()
            or not Path(path).is_absolute()
            or ".." in Path(path).parts
        ):
            yield f"{key} must be an absolute path without .., not {path!r}"


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and WORD.fullmatch(value) is not None
