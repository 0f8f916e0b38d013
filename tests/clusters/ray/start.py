"""Run by Ray's own Python: starts a head with what the Jobs API needs and nothing else, and says who is who.

`ray start --head` would start an autoscaler, a client server and nine parts of the dashboard besides, for half a minute
of two cores. Arguments: a JSON object of RayParams. Prints one of names and process ids.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ray._private import services
from ray._private.node import Node
from ray._private.parameter import RayParams

DASHBOARD, PARTS = "dashboard", "JobHead,NodeHead"
begin = services.start_ray_process


def begin_less(command: list[str], kind: str, *rest: Any, **more: Any) -> Any:
    """Ray's own way to start a process, with a dashboard of two parts."""
    return begin([*command, f"--modules-to-load={PARTS}"] if kind == DASHBOARD else command, kind, *rest, **more)


services.start_ray_process = begin_less
node = Node(RayParams(**json.loads(sys.argv[1])), head=True, shutdown_at_exit=False, spawn_reaper=False)
print(json.dumps({name: info.process.pid for name, [info] in node.all_processes.items()}))
