"""Settings of a Slurm cluster, from an administrator: where jobs are submitted, and their environment."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from workers.executors.site_rules import AbsolutePath, Modules, Partitions, Seconds, Variables, Word


@dataclass(frozen=True)
class Site:
    """Every field has a default that leaves it to Slurm, or takes what this machine has."""

    partition: Word = ""
    """Partition of runs that name none; if empty, Slurm decides."""
    account: Word = ""
    """Account of the jobs; if empty, Slurm decides."""
    qos: Word = ""
    """Quality of service of the jobs; if empty, Slurm decides."""
    constraint: Word = ""
    """Feature that nodes must have; if empty, any nodes."""
    gpu_type: Word = ""
    """Type of GPU of runs that request GPUs and name no type (`compute.gpu_type`), such as a100; if empty, any."""
    partitions: Partitions = ()
    """Other partitions that a run may choose, such as `["gpu", "cpu"]`: by `compute.partition`, in the form, a config
    or a sweep; if empty, only `partition`."""
    time_limit_seconds: Seconds = 0
    """Time limit of a run that sets none itself; 0 leaves it to the partition."""
    modules: Modules = ()
    """Environment modules that are loaded before the agent starts, in this order."""
    env: Variables = field(default_factory=dict)
    """Environment variables of agent and program; none may look like a secret."""
    python: AbsolutePath = sys.executable
    """Interpreter on the nodes, in which esweb's training part is installed; by default this machine's."""
    project: AbsolutePath = ""
    """Folder on the nodes that holds the package `workers`. By default, an attempt runs the copy of this machine's code
    that was made when it was submitted."""
    slurm_conf: AbsolutePath = ""
    """Path of slurm.conf, if it is not the machine's own."""

    @property
    def client_env(self) -> dict[str, str]:
        """Return the variables for Slurm's own commands."""
        return {"SLURM_CONF": self.slurm_conf} if self.slurm_conf else {}
