"""A script for Ray's own Python: start a head with only the parts that the Jobs API needs, and print their pids.

`ray start --head` would also start an autoscaler, a client server and nine parts of the dashboard, for half a minute
of two cores. Arguments: a JSON object of RayParams. Prints a JSON object of names and process ids.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ray._private import services
from ray._private.node import Node
from ray._private.parameter import RayParams

DASHBOARD, PARTS = "dashboard", "JobHead,NodeHead"
start_process = services.start_ray_process


def start_fewer_modules(command: list[str], kind: str, *args: Any, **kwargs: Any) -> Any:
    """Start a process like Ray itself, with a dashboard of two parts."""
    return start_process(
        [*command, f"--modules-to-load={PARTS}"] if kind == DASHBOARD else command, kind, *args, **kwargs
    )


services.start_ray_process = start_fewer_modules
node = Node(RayParams(**json.loads(sys.argv[1])), head=True, shutdown_at_exit=False, spawn_reaper=False)
print(json.dumps({name: info.process.pid for name, [info] in node.all_processes.items()}))
