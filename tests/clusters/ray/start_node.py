"""A script for Ray's own Python: start one more node of a running head, and print the pids of its processes.

Arguments: a JSON object of RayParams. Prints a JSON object of names and process ids.
"""

from __future__ import annotations

import json
import sys

from ray._private.node import Node
from ray._private.parameter import RayParams

node = Node(RayParams(**json.loads(sys.argv[1])), head=False, shutdown_at_exit=False, spawn_reaper=False)
print(json.dumps({name: info.process.pid for name, [info] in node.all_processes.items()}))
