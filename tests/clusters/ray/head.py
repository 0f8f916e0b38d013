"""Start a Ray head, break parts of it, and stop it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from tests.clusters.ray.installation import HERE, python
from tests.clusters.ray.sessions import end_session
from tests.clusters.slurm.daemons import Daemons, kill_processes_with
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.attempt import Process, read_json, write_json

CPUS, GPUS = 8, 2
"""More cores than the machine has: small programs wait most of the time."""
STORE_BYTES = 80 * 2**20
"""The minimal size of shared memory that Ray accepts."""
FINAL_STATUSES = ("SUCCEEDED", "FAILED", "STOPPED")
MARK = "ESWEB_RAY_HEAD"
TEMP = "t"
"""Ray's folder below `root`. Short, because the addresses of its sockets have at most 107 bytes."""


class CannotStart(Exception):
    """A part of Ray did not come up; the message holds its last words."""


class RayHead:
    """A head that is the only node, on loopback, called with a token. All its files are under `root`.

    Ray makes its temp_dir writable for everybody, so `root` is the owner's alone and temp_dir is a folder in it.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.token_file = root, root / "token"
        self.daemons = Daemons(root)

    @property
    def address(self) -> str:
        """Return the URL of the dashboard, which accepts jobs."""
        return f"http://127.0.0.1:{self._ports()['dashboard_port']}"

    @property
    def gcs_address(self) -> str:
        """Return the address at which nodes and drivers join."""
        return f"127.0.0.1:{self._ports()['gcs_server_port']}"

    def up(self) -> None:
        """Start the head and wait until it answers. Raise CannotStart if it fails."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)
        self._create_token()
        for name, pid in start_processes(self, "start_head.py", self._params(), self._write_session).items():
            self.daemons.adopt(name, pid)
            if name == "dashboard":
                argv = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                write_json(self.root / "dashboard.argv.json", {"argv": argv[:-1]})
        self._wait_for_answer()

    def down(self) -> None:
        """End every process of the head and its jobs, and remove the folder."""
        self.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def kill(self) -> None:
        """Send SIGKILL to all processes, also of other nodes. The jobs are forgotten: Ray stores them in memory."""
        for file in self.root.glob("*session.json"):
            if first := Process.recorded(read_json(file)):
                end_session(first)
        kill_processes_with(f"{MARK}={self.root}")
        for name in self.daemons.names():
            self.daemons.stop(name, signal.SIGKILL)

    def restart(self) -> None:
        """Kill and start the head, which returns at the same address without any job."""
        self.kill()
        self.up()

    def kill_raylet(self) -> None:
        """Send SIGKILL to the raylet, which runs jobs on the node. The dashboard does not notice."""
        self.daemons.stop("raylet", signal.SIGKILL)

    def kill_dashboard(self) -> None:
        """Send SIGKILL to the dashboard. Jobs continue."""
        self.daemons.stop("dashboard", signal.SIGKILL)

    def start_dashboard(self) -> None:
        """Start the dashboard again, which Ray itself would not do."""
        saved = read_json(self.root / "dashboard.argv.json") or {}
        self.daemons.start("dashboard", saved["argv"], self.env())
        self._wait_for_answer()

    def repair(self) -> None:
        """Restart the parts that a test has broken, and end its jobs."""
        if not self.daemons.is_running("raylet"):
            self.restart()
        if not self.daemons.is_running("dashboard"):
            self.start_dashboard()
        for job in self._open_jobs():
            self.ask("POST", f"/api/jobs/{job['submission_id']}/stop")
        # A job that waits for more than the node has cannot be stopped, and uses nothing.
        wait_until(
            lambda: not [job for job in self._open_jobs() if job["status"] == "RUNNING"],
            "every running Ray job to end",
            details=self._open_jobs,
        )

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the dashboard's reply. Raise httpx.HTTPError if it fails."""
        token = {"Authorization": f"Bearer {self.token_file.read_text()}"}
        address = self.address + path
        response = httpx.request(method, address, json=body, headers=token, timeout=PATIENCE_SECONDS, trust_env=False)
        response.raise_for_status()
        return response.json()

    def session(self) -> Process | None:
        """Return the process that started the session of all servers, or None if there was none."""
        return Process.recorded(read_json(self.root / "session.json"))

    def _write_session(self, first: Process) -> None:
        write_json(self.root / "session.json", asdict(first))

    def _open_jobs(self) -> list[Any]:
        return [job for job in self.ask("GET", "/api/jobs/") if job["status"] not in FINAL_STATUSES]

    def _wait_for_answer(self) -> None:
        wait_until(
            self._is_answering,
            "the Ray dashboard to answer",
            details=lambda: self.daemons.read_log_end(f"{TEMP}/session_latest/logs/dashboard"),
        )

    def _is_answering(self) -> bool:
        try:
            return bool(self.ask("GET", "/api/version"))
        except httpx.HTTPError:
            return False

    def _create_token(self) -> None:
        if not self.token_file.exists():
            self.token_file.touch(mode=0o600)
            self.token_file.write_text(secrets.token_hex(32))

    def _params(self) -> dict[str, Any]:
        """Return the arguments of RayParams."""
        return {
            "node_ip_address": "127.0.0.1",
            "dashboard_host": "127.0.0.1",
            "include_dashboard": True,
            "include_log_monitor": False,
            "no_monitor": True,
            "num_cpus": CPUS,
            "num_gpus": GPUS,
            "object_store_memory": STORE_BYTES,
            "temp_dir": str(self.root / TEMP),
            # Any free ports, so that two heads do not conflict.
            "min_worker_port": 0,
            "max_worker_port": 0,
            "dashboard_agent_listen_port": 0,
            "gcs_server_port": self._ports()["gcs_server_port"],
            "dashboard_port": self._ports()["dashboard_port"],
        }

    def env(self) -> dict[str, str]:
        """Return Ray's environment without our variables, since Ray's processes pass theirs to jobs."""
        return {
            "PATH": f"{python().parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            MARK: str(self.root),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.token_file),
            # This setting of other systems keeps Ray on loopback; on Linux it would listen at every address.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DISABLE_DOCKER_CPU_WARNING": "1",
            "RAY_enable_worker_prestart": "0",
            "RAY_prestart_worker_first_driver": "0",
            "DASHBOARD_METRIC_PORT": str(self._ports()["metrics"]),
        }

    def _ports(self) -> dict[str, int]:
        """Return the ports, which are chosen at the first start and stored."""
        file = self.root / "ports.json"
        if (ports := read_json(file)) is None:
            ports = {name: unused_port() for name in ("gcs_server_port", "dashboard_port", "metrics")}
            write_json(file, ports)
        return ports


def start_processes(
    head: RayHead, script: str, params: dict[str, Any], register: Callable[[Process], None]
) -> dict[str, int]:
    """Start processes of Ray by a script, in a session whose first process is registered. Return their pids by name.

    Raise CannotStart if the script fails.
    """
    with (head.root / "start.log").open("ab") as log:
        starter = subprocess.Popen(
            [str(python()), "-P", str(HERE / script), json.dumps(params)],
            cwd=head.root,
            env=head.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    if (first := Process.at(starter.pid)) is not None:
        register(first)
    output, _ = starter.communicate(timeout=PATIENCE_SECONDS)
    if starter.returncode:
        raise CannotStart(head.daemons.read_log_end("start"))
    return dict(json.loads(output.splitlines()[-1]))
