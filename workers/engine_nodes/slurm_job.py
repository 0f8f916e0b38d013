"""The nodes of a job of Slurm. Each other node is started by an `srun` of its own, so that one which ends starts again.

A job keeps its nodes for as long as it lives, except a node that fails: `sbatch --no-kill` lets the job go on without
it, and Slurm gives it no other.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from workers.config import ConfigError, Problem
from workers.config.run import ComputeConfig
from workers.engine_nodes.job import NODE_PROGRAM, Launcher, OtherNodes

JOB, NODES, OWN = "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURMD_NODENAME"
SECONDS = 60.0
ADDRESS = re.compile(r"\b(NodeAddr|NodeHostName|NodeName)=(\S+)")


def slurm_nodes(
    directory: Path, compute: ComputeConfig, environment: Mapping[str, str] = os.environ
) -> OtherNodes | None:
    """Return the other nodes of the job; None if this process is in no job of Slurm.

    Raise ConfigError if the job has fewer nodes than `compute.nodes`, or Slurm does not answer.
    """
    if JOB not in environment or NODES not in environment:
        return None
    names = _slurm("scontrol", "show", "hostnames", environment[NODES]).split()
    if len(names) < compute.nodes:
        has = f"this job of Slurm has {len(names)}: {', '.join(names)}"
        raise ConfigError([Problem("compute.nodes", f"is {compute.nodes}, but {has}; submit it with --nodes")])
    others = [name for name in names if name != environment.get(OWN)][: compute.nodes - 1]
    addresses = sorted(set(_addresses(_slurm("scontrol", "--oneliner", "show", "node", ",".join(others)))))
    launchers = tuple(Launcher(_srun(directory, compute, name, n)) for n, name in enumerate(others, 1))
    peers = frozenset(ip for address in addresses for ip in _resolve(address))
    if not peers:
        raise ConfigError([Problem("compute.nodes", f"no address is known of {', '.join(others)}: see NodeAddr")])
    return OtherNodes(len(others), launchers, tuple(sorted(peers)), peers)


def _srun(directory: Path, compute: ComputeConfig, name: str, number: int) -> tuple[str, ...]:
    """Return the command that runs the node program on the node of this name."""
    gpus = ":".join(filter(None, ("gpu", compute.gpu_type, str(compute.devices))))
    return (
        "srun",
        "--nodes=1",
        "--ntasks=1",
        f"--nodelist={name}",
        f"--cpus-per-task={compute.cores}",
        *((f"--gres={gpus}",) if compute.devices else ()),
        # Another step of an ended program may still be ending.
        "--overlap",
        "--export=ALL",
        f"--job-name=node-{number}",
        sys.executable,
        "-m",
        NODE_PROGRAM,
        str(directory.resolve()),
        f"--node={number}",
    )


def _slurm(*argv: str) -> str:
    """Return the output of one of Slurm's commands. Raise ConfigError if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=False)
        reason = done.stderr.strip() if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    if reason:
        raise ConfigError([Problem("compute.nodes", f"Slurm does not name the nodes of this job: {reason[-300:]}")])
    return done.stdout


def _addresses(text: str) -> Sequence[str]:
    return [match[2] for match in ADDRESS.finditer(text)]


def _resolve(address: str) -> Iterator[str]:
    """Yield the addresses of a machine; nothing if its name is unknown here."""
    try:
        for *_, (ip, *_) in socket.getaddrinfo(address, None, socket.AF_INET, socket.SOCK_STREAM):
            yield str(ip)
    except OSError:
        return
