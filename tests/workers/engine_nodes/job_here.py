"""A job whose other nodes are programs on this machine, started as a scheduler would start them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until
from workers.client.processes import tree
from workers.config.run import ComputeConfig
from workers.engine_nodes import job_nodes
from workers.engine_nodes.job import NODE_PROGRAM, Launcher, OtherNodes

LOOPBACK = "127.0.0.1"


def start_nodes_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run with several nodes find its other nodes on this machine."""

    def nodes_here(directory: Path, compute: ComputeConfig) -> OtherNodes:
        launchers = tuple(
            Launcher((sys.executable, "-m", NODE_PROGRAM, str(directory), f"--node={number}"))
            for number in range(1, compute.nodes)
        )
        return OtherNodes(len(launchers), launchers, (LOOPBACK,), frozenset({LOOPBACK}))

    monkeypatch.setattr(job_nodes, "slurm_nodes", nodes_here)


def node_programs(pid: int) -> list[int]:
    """Return the pids of the node programs that a training process has started."""
    command = NODE_PROGRAM.encode()
    return [process.pid for process in tree(pid) if command in Path(f"/proc/{process.pid}/cmdline").read_bytes()]


def wait_for_end(pids: list[int]) -> None:
    """Wait until no process with one of these pids is left."""
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the processes to end")
