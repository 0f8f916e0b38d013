"""The other nodes of this training's job, and the processes that start the node program on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NODE_PROGRAM = "workers.engine_nodes.program"
"""Module of the node program: `python -m … ATTEMPT_DIRECTORY --node NUMBER`, on each other node of the job."""


@dataclass(frozen=True)
class Launcher:
    """A process on this node that runs the node program on other nodes, and ends when they end.

    It is started again if it ends while the training goes on. `environment` is added to that of this process.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OtherNodes:
    """The other nodes of the job: their number, and what starts the node program on them as nodes 1 to `count`.

    `hosts` are addresses or names of machines in the nodes' network, from which this machine's own address in it
    follows. Only `peers`, as addresses, may connect; None: any machine that knows the token.
    """

    count: int
    launchers: tuple[Launcher, ...]
    hosts: tuple[str, ...]
    peers: frozenset[str] | None = None
