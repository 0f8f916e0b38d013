"""A second node of a Ray head, on the same machine: start it, kill it as if its machine failed, and stop it."""

from __future__ import annotations

import signal
from dataclasses import asdict
from typing import Any

from tests.clusters.ray.head import STORE_BYTES, RayHead, start_processes
from tests.clusters.ray.sessions import end_session, members
from tests.waiting import wait_until
from workers.attempt import Process, read_json, write_json

CPUS, GPUS, GPU_TYPE = 4, 2, "H100"
RAYLET = "second-raylet"
TEMP = "u"
"""The node's folder below the head's. Short, because the addresses of its sockets have at most 107 bytes."""


class RayNode:
    """A node that joins the head, with fake GPUs of a type. Its processes are in a session of their own."""

    def __init__(self, head: RayHead) -> None:
        self.head = head

    def up(self) -> None:
        """Start the node unless it runs, and wait until it has joined. Raise CannotStart if it fails."""
        if not self.is_running():
            pids = start_processes(self.head, "start_node.py", self._params(), self._write_session)
            self.head.daemons.adopt(RAYLET, pids["raylet"])
        wait_until(lambda: len(self._present()) == 1, "the second node to join Ray", details=self._nodes)

    def down(self) -> None:
        """Let the node leave Ray, which its head notices immediately, and end its processes."""
        self.head.daemons.stop(RAYLET, signal.SIGTERM)
        self.kill()

    def kill(self) -> None:
        """Send SIGKILL to all processes of the node and its actors, and wait until the head has noticed: 20 seconds."""
        if first := self._session():
            end_session(first)
            wait_until(lambda: not members(first), "the processes of the second node to end")
        wait_until(lambda: not self._present(), "Ray to notice that the second node is lost", details=self._nodes)

    def is_running(self) -> bool:
        """Return whether any process of the node runs."""
        return (first := self._session()) is not None and bool(members(first))

    def session_id(self) -> int:
        """Return the session of all processes of the node, which runs."""
        first = self._session()
        assert first is not None
        return first.pid

    def _present(self) -> list[dict[str, Any]]:
        return [node for node in self._nodes() if node["state"] == "ALIVE" and not node["isHeadNode"]]

    def _nodes(self) -> list[dict[str, Any]]:
        return [node["raylet"] for node in self.head.ask("GET", "/nodes?view=summary")["data"]["summary"]]

    def _session(self) -> Process | None:
        return Process.recorded(read_json(self.head.root / "node-session.json"))

    def _write_session(self, first: Process) -> None:
        write_json(self.head.root / "node-session.json", asdict(first))

    def _params(self) -> dict[str, Any]:
        """Return the arguments of RayParams."""
        return {
            "node_ip_address": "127.0.0.1",
            "gcs_address": self.head.gcs_address,
            "include_log_monitor": False,
            "num_cpus": CPUS,
            "num_gpus": GPUS,
            "resources": {f"accelerator_type:{GPU_TYPE}": 1},
            "object_store_memory": STORE_BYTES,
            "temp_dir": str(self.head.root / TEMP),
            # Any free ports, so that it does not conflict with the head.
            "min_worker_port": 0,
            "max_worker_port": 0,
            "dashboard_agent_listen_port": 0,
        }
