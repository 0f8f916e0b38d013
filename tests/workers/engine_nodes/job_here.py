"""A job whose other nodes are programs on this machine, started as a scheduler would start them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.workers.forked import NAME_LENGTH, fork_programs, name_of
from workers.client.processes import tree
from workers.config.run import ComputeConfig
from workers.engine_nodes import job_nodes, launchers, processes
from workers.engine_nodes.job import NODE_PROGRAM, Launcher, OtherNodes
from workers.engines.es.engine_group.process import PROGRAM

LOOPBACK = "127.0.0.1"


def start_nodes_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run with several nodes find its other nodes on this machine, as forks of the tests' process."""

    def nodes_here(directory: Path, compute: ComputeConfig) -> OtherNodes:
        launchers = tuple(
            Launcher((sys.executable, "-m", NODE_PROGRAM, str(directory), f"--node={number}"))
            for number in range(1, compute.nodes)
        )
        return OtherNodes(len(launchers), launchers, (LOOPBACK,), frozenset({LOOPBACK}))

    monkeypatch.setattr(job_nodes, "slurm_nodes", nodes_here)
    fork_programs(monkeypatch, launchers, processes)


def node_programs(pid: int) -> list[int]:
    """Return the pids of the node programs that a training process has started."""
    return list(_running(pid, NODE_PROGRAM))


def wait_for_end(pid: int) -> None:
    """Wait until no node program, and no engine, of this training process is left."""
    wait_until(lambda: not [*_running(pid, NODE_PROGRAM), *_running(pid, PROGRAM)], "engines and nodes to end")


def _running(pid: int, module: str) -> Iterator[int]:
    """Yield the pids of the descendants that run a module."""
    for process in tree(pid):
        # One may end between the list and the look at it.
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
            # A killed process for which nobody has waited has a name still, but no command.
            if any(command) and (module.encode() in command or name_of(process.pid) == module[-NAME_LENGTH:]):
                yield process.pid
