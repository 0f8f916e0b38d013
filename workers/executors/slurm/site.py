"""Settings of a Slurm cluster, from an administrator: where jobs are submitted, and their environment.

A shell never reads any of these words: each becomes one argument of sbatch, or of the job's fixed script.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:/+@=-]{0,199}")
"""Names of partitions, accounts and modules. The first letter prevents that a word is taken for an option."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
SECRET = re.compile(r"SECRET|TOKEN(?!IZER)|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_?KEY", re.IGNORECASE)
"""Variables that must not be in a job's environment, which every user of its node, and the accounting, may see."""


@dataclass(frozen=True)
class Site:
    """Every field has a default that leaves it to Slurm, or takes what this machine has."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    gpu_type: str = ""
    """Type of GPU of runs that request GPUs and name no type, such as a100."""
    time_limit_seconds: int = 0
    """Time limit of a run that sets none itself; 0 leaves it to the partition."""
    modules: tuple[str, ...] = ()
    """Environment modules that are loaded before the agent starts, in this order."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables for agent and program."""
    python: str = sys.executable
    """Interpreter on the nodes, in which esweb's training part is installed."""
    project: str = ""
    """Folder on the nodes that holds the package `workers`; empty for the code that esweb itself runs."""
    slurm_conf: str = ""
    """Path of slurm.conf, if it is not the machine's own."""

    @property
    def client_env(self) -> dict[str, str]:
        """Return the variables for Slurm's own commands."""
        return {"SLURM_CONF": self.slurm_conf} if self.slurm_conf else {}
