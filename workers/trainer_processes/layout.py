"""Numbers and environment of the processes of a training, as torchrun sets them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from workers.bearer import is_loopback
from workers.client.metric_copies.loggers import PYTHON_VARIABLE
from workers.config import RunConfig
from workers.engine_nodes.processes import PROJECT
from workers.trainer_processes.accelerate_config import variables

RENDEZVOUS = "ESWEB_RENDEZVOUS"
"""Variable with the address at which the processes meet: a file of this machine, or a port of the first node."""
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
"""Variables that make the processes of one machine listen on its loopback interface alone."""


@dataclass(frozen=True)
class Rank:
    """Process `number` of the training: the `local`-th on a node, 0 for the first node."""

    number: int
    node: int
    local: int

    def describe(self, world: int) -> str:
        """Return the process in words, counted from 1 as users do."""
        return f"process {self.number + 1} of {world}"


def ranks_of(config: RunConfig) -> list[Rank]:
    """Return all processes of a run, those of a node next to each other."""
    on_node = config.processes // config.compute.nodes
    return [Rank(number, *divmod(number, on_node)) for number in range(config.processes)]


def environment_of(config: RunConfig, rank: Rank, rendezvous: str) -> Mapping[str, str]:
    """Return the variables that are added to the environment of a process."""
    world, nodes = config.processes, config.compute.nodes
    torchrun: dict[str, str | int | None] = {
        "RANK": rank.number, "LOCAL_RANK": rank.local, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world // nodes,
        "OMP_NUM_THREADS": threads_of(config),
    }  # fmt: skip
    # The interpreter of vLLM's environment has neither this project nor the loggers.
    here = {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH", "")))),
        PYTHON_VARIABLE: sys.executable,
    }
    if (meeting := urlsplit(rendezvous)).scheme == "tcp":
        torchrun |= {"MASTER_ADDR": meeting.hostname, "MASTER_PORT": meeting.port}
    distribution = {name: str(value) for name, value in torchrun.items()} if world > 1 else {}
    return distribution | here | {RENDEZVOUS: rendezvous} | variables(config) | _interfaces(config)


def _interfaces(config: RunConfig) -> dict[str, str]:
    """Return the variables that limit the network interfaces. A vLLM server on another machine receives weights by
    NCCL."""
    if config.compute.nodes > 1:
        return {}
    vllm = config.grpo.vllm if config.grpo else None
    is_elsewhere = vllm is not None and vllm.mode == "server" and not is_loopback(urlsplit(vllm.server).hostname or "")
    return {name: value for name, value in LOOPBACK.items() if not (is_elsewhere and name.startswith("NCCL"))}


def threads_of(config: RunConfig) -> int:
    """Return the torch threads of each process: the cores of a node, shared equally."""
    on_node = config.grpo.processes_on(config.compute.devices) if config.grpo else 1
    return max(1, config.compute.cores // on_node)
