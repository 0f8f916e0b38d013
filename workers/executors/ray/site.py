"""Settings of a Ray cluster, from an administrator: the dashboard's address, and what jobs get."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from workers.executors.agent_start import PROJECT
from workers.executors.site_rules import AbsolutePath, Amounts, Flag, Seconds, Variables


@dataclass(frozen=True)
class Site:
    """Address of the dashboard, and settings whose defaults leave the choice to Ray or are taken from this machine."""

    dashboard: str
    """Address of the dashboard, such as http://10.0.0.5:8265, on a host of `ESWEB_RAY_HOSTS`; required. Anyone who
    reaches it and has its token can run code on the cluster."""
    token_file: AbsolutePath = ""
    """File on this machine that holds the cluster's token, if it requires one (RAY_AUTH_MODE=token). It is read each
    time, so you can renew it."""
    resources: Amounts = field(default_factory=dict)
    """Custom resources that each job takes, such as `{"accelerator_type:A100": 0.001}`; they select kinds of GPUs or
    nodes."""
    start_seconds: Seconds = 0
    """Seconds after which a waiting job has failed; 0 leaves that to Ray."""
    autoscales: Flag = False
    """`true` if Ray adds nodes when a job waits for them: then no job is too large for its present nodes."""
    env: Variables = field(default_factory=dict)
    """Environment variables of agent and program; none may look like a secret."""
    python: AbsolutePath = sys.executable
    """Interpreter on the nodes, in which esweb's training part is installed; by default this machine's."""
    project: AbsolutePath = str(PROJECT)
    """Folder on the nodes that holds the package `workers`; by default the code that esweb itself runs, pinned."""
    ray_python: AbsolutePath = ""
    """Interpreter on the nodes in which Ray is installed, for runs on several nodes; if empty, `python`."""
