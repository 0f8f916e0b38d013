"""Settings of a Ray cluster, from an administrator: the dashboard's address, and what jobs get."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from workers.executors.agent_start import PROJECT


@dataclass(frozen=True)
class Site:
    """Address of the dashboard, and settings whose defaults leave the choice to Ray or are taken from this machine."""

    dashboard: str
    """Address, such as http://10.0.0.5:8265. Anyone who reaches it and has its token can run code on the cluster."""
    token_file: str = ""
    """File on this machine that holds the cluster's token, if it requires one (RAY_AUTH_MODE=token)."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """Custom resources that each job takes, such as {"accelerator_type:A100": 0.001}."""
    start_seconds: int = 0
    """Seconds after which a waiting job has failed; 0 leaves that to Ray."""
    autoscales: bool = False
    """True if Ray adds nodes when a job waits for them: then no job is too large for its present nodes."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables for agent and program."""
    python: str = sys.executable
    """Interpreter on the nodes, in which esweb's training part is installed."""
    ray_python: str = ""
    """Interpreter on the nodes in which Ray is installed, for runs on several nodes; empty if it is `python`."""
    project: str = str(PROJECT)
    """Folder on the nodes that holds the package `workers`; by default the code that esweb itself runs."""
