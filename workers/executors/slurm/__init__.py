"""Runs attempts on a Slurm cluster, through its own commands."""

from workers.executors.slurm.executor import Slurm
from workers.executors.slurm.site import Site

__all__ = ["Site", "Slurm"]
