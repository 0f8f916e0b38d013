"""The start of all other nodes of this training's job, whichever scheduler it runs under."""

from __future__ import annotations

from pathlib import Path

from workers.config import ConfigError, Problem
from workers.config.run import ComputeConfig
from workers.engine_nodes.nodes import Nodes
from workers.engine_nodes.ray_job import ray_nodes
from workers.engine_nodes.slurm_job import slurm_nodes

NO_SCHEDULER = (
    "is {nodes}, but this process is in no job of Slurm or Ray, which starts the engines on other nodes. Start it in "
    "one, or set compute.nodes to 1"
)


def start_nodes(directory: Path, compute: ComputeConfig) -> Nodes | None:
    """Start the other nodes of the job; None if the config has one node. `directory`: the attempt's, on a disk that all
    nodes share. Raise ConfigError."""
    if compute.nodes == 1:
        return None
    job = slurm_nodes(directory, compute) or ray_nodes(directory, compute)
    if job is None:
        raise ConfigError([Problem("compute.nodes", NO_SCHEDULER.format(nodes=compute.nodes))])
    try:
        return Nodes(job, directory)
    except (OSError, ValueError) as error:
        raise ConfigError([Problem("compute.nodes", f"the other nodes cannot be started: {error}")]) from error
