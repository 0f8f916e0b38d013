"""Settings of a cluster of each kind. A field is a key of its config: the field's type checks the value, and the text
under it documents the key."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, get_args

from runs.clusters.settings.rules import (
    OTHER_CODE,
    dashboard_errors,
    folder_errors,
    is_project,
    is_site_url,
    limit_errors,
    server_folder_errors,
    timeout_errors,
)
from runs.models import Cluster
from workers.config.fields import hints
from workers.executors import ray, slurm
from workers.executors.site_rules import AbsolutePath, Flag, Rule, is_count, is_list

GPU_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9/-]{0,127}", re.ASCII)
Folders = Annotated[tuple[str, ...], folder_errors]
ServerFolders = Annotated[tuple[str, ...], server_folder_errors]


@dataclass(frozen=True)
class ClusterSite:
    """Settings of every cluster."""

    example: ClassVar[str]
    """Config of a cluster of this kind, for messages."""

    waits: Annotated[Mapping[str, float], timeout_errors] = field(default_factory=dict)
    """Timeouts in seconds, by name; the others are those of the kind."""
    task_paths: Folders = ()
    """Folders that may contain users' own tasks; by default none. Anyone who can write there can run code on the
    cluster."""
    data_paths: Folders = ()
    """Folders in which runs may name models and files; by default none."""
    import_paths: ServerFolders = ()
    """Folders of this server below which admins may import runs; by default none. Name none that users can write to and
    that holds files of others."""
    wandb_projects: Annotated[
        tuple[str, ...],
        Rule('a list of projects as entity/project, such as ["my-team/es"]', is_list(is_project)),
    ] = ()
    """Projects at Weights & Biases to which runs may send their metrics, such as `["my-team/es"]`; by default none."""
    site_url: Annotated[
        str, Rule("this site's address as nodes call it, such as https://esweb.example", is_site_url)
    ] = ""
    """Address at which nodes reach this site: runs push their records, and find scorers. By default, records are read
    from files."""
    other_code: Annotated[str, Rule(f"one of {', '.join(OTHER_CODE)}", OTHER_CODE.__contains__)] = OTHER_CODE[0]
    """`warn` or `refuse`, if the code in `project` differs from the code that the attempt was launched with; by default
    `warn`."""
    limits: Annotated[Mapping[str, int], limit_errors] = field(default_factory=dict)
    """The most that one run may request: `nodes`, `time_limit_seconds`, `gpus`, `cores` and `memory_mb` of each node,
    and `total_gpus` of all nodes, such as `{"nodes": 4, "total_gpus": 16}`; by default, nothing is limited."""


def _is_gpu(name: Any) -> bool:
    """Return whether the value may name a GPU of this machine."""
    if isinstance(name, str):
        return GPU_NAME.fullmatch(name) is not None
    return isinstance(name, int) and not isinstance(name, bool) and name >= 0


@dataclass(frozen=True)
class _Machine:
    cores: Annotated[int | None, Rule("a whole number from 1", is_count(1))] = None
    """Cores for runs; by default those of `ESWEB_LOCAL_SLOTS`."""
    gpus: Annotated[
        tuple[str | int, ...] | None,
        Rule('a list of GPUs by index or UUID, as nvidia-smi -L lists them, such as ["0", "1"]', is_list(_is_gpu)),
    ] = None
    """GPUs for runs, by index or UUID, as `nvidia-smi -L` lists them, such as `["0", "1"]`; `[]` for none; by default
    all that the NVIDIA driver shows."""
    mps: Flag = True
    """Whether ES runs that share a GPU compute on it at the same time, by CUDA's Multi-Process Service, if this machine
    has it; with false, they take turns."""


@dataclass(frozen=True)
class LocalSite(ClusterSite, _Machine):
    """Settings of this machine."""

    example = '{"cores": 4, "gpus": ["0", "1"], "task_paths": ["/srv/esweb-tasks"], "data_paths": ["/srv/esweb-data"]}'


@dataclass(frozen=True)
class _OverSsh:
    """Connection to a cluster to which this machine does not belong."""

    address: str = ""
    """`ssh://user@host:port`, or a host of this machine's `ssh_config`, with its jump hosts. Empty if this machine is
    part of the cluster."""
    key_file: AbsolutePath = ""
    """Path of a key without a passphrase, on this machine; the database never stores a key. By default, the SSH agent's
    key, or that of `ssh_config`."""
    known_hosts: AbsolutePath = ""
    """File that already holds the machine's host key; by default `~/.ssh/known_hosts`."""
    folder: AbsolutePath = ""
    """Folder of runs on the cluster, on a disk that its nodes see; required with `address`."""


@dataclass(frozen=True)
class SlurmSite(ClusterSite, _OverSsh, slurm.Site):
    """Settings of a Slurm cluster."""

    example = '{"partition": "gpu", "account": "lab", "modules": ["cuda/12.4"], "env": {"HF_HOME": "/shared/hf"}}'


@dataclass(frozen=True)
class RaySite(ClusterSite, ray.Site):
    """Settings of a Ray cluster. A dashboard's host can run any code, so it must be one of ESWEB_RAY_HOSTS."""

    example = (
        '{"dashboard": "http://127.0.0.1:8265", "token_file": "/etc/esweb/ray-token", "env": {"HF_HOME": "/shared/hf"}}'
    )
    dashboard: Annotated[str, dashboard_errors]


SITES: dict[str, type[ClusterSite]] = {"local": LocalSite, "slurm": SlurmSite, "ray": RaySite}
KEYS = {kind: tuple(key.name for key in dataclasses.fields(site)) for kind, site in SITES.items()}
EXAMPLES = {kind: site.example for kind, site in SITES.items()}


def is_text_key(key: str, kind: str) -> bool:
    """Return whether the value of this key of a cluster's config is one text."""
    site: type = SITES[kind]
    hint = hints(site).get(key)
    return hint is str or get_args(hint)[:1] == (str,)


def site_of(cluster: Cluster) -> Any:
    """Return the settings in a cluster's config, of the class of its kind; missing keys take their defaults."""
    keys = KEYS[cluster.kind]
    return SITES[cluster.kind](**{key: value for key, value in cluster.config.items() if key in keys})
