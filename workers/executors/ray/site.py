"""What a Ray cluster is like, as an administrator has said: where it is asked, and what jobs are given there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from workers.executors.starting import PROJECT


@dataclass(frozen=True)
class Site:
    """Where its dashboard is, and what has a default that leaves it to Ray or takes what this machine has."""

    dashboard: str
    """Its address, such as http://10.0.0.5:8265. Whoever reaches it and has its token runs code on the cluster."""
    token_file: str = ""
    """File on this machine that holds the cluster's token, where it asks for one (RAY_AUTH_MODE=token)."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """Custom resources that each job takes, such as {"accelerator_type:A100": 0.001}."""
    start_seconds: int = 0
    """A job that has waited so long has failed; 0 leaves that to Ray."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables for agent and program."""
    python: str = sys.executable
    """Interpreter on the nodes, in which esweb's training part is installed."""
    project: str = str(PROJECT)
    """Folder on the nodes that holds the package `workers`; by default the code that esweb itself runs."""
