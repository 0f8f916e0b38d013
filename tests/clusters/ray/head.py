"""One head: brings it up, breaks parts of it, takes it down."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from tests.clusters.ray.installed import HERE, python
from tests.clusters.ray.sessions import end_session
from tests.clusters.slurm.daemons import Daemons, end_all_with
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.attempt import Process, read_json, write_json

CPUS, GPUS = 8, 2
"""More cores than the machine has: small programs wait most of the time."""
STORE_BYTES = 80 * 2**20
"""Of shared memory, the least that Ray takes."""
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
MARK = "ESWEB_RAY_HEAD"
TEMP = "t"
"""Ray's folder below `root`. Short, because the addresses of its sockets have at most 107 bytes."""


class CannotStart(Exception):
    """A part of Ray did not come up; the message holds its last words."""


class RayHead:
    """A head that is the only node, on loopback, asked with a token. All that it writes lies under `root`.

    Ray makes its temp_dir writable for everybody, so `root` is the owner's alone and temp_dir is a folder in it.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.token_file = root, root / "token"
        self.daemons = Daemons(root)

    @property
    def address(self) -> str:
        """Of the dashboard, which takes jobs."""
        return f"http://127.0.0.1:{self._ports()['dashboard_port']}"

    def up(self) -> None:
        """Starts it and waits until it answers. Raises CannotStart."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)
        self._keep_token()
        for name, pid in self._begun().items():
            self.daemons.adopt(name, pid)
            if name == "dashboard":
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                write_json(self.root / "dashboard.argv.json", {"argv": words[:-1]})
        self._await_answer()

    def down(self) -> None:
        """Ends every process of it, with its jobs', and removes the folder."""
        self.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def kill(self) -> None:
        """kill -9 of all of it. What it knew is forgotten: Ray keeps that in memory."""
        if first := self.session():
            end_session(first)
        end_all_with(f"{MARK}={self.root}")
        for name in self.daemons.names():
            self.daemons.stop(name, signal.SIGKILL)

    def restart(self) -> None:
        """It comes back at the same address, knowing no job."""
        self.kill()
        self.up()

    def kill_raylet(self) -> None:
        """kill -9 of what runs jobs on the node. The dashboard does not notice."""
        self.daemons.stop("raylet", signal.SIGKILL)

    def kill_dashboard(self) -> None:
        """kill -9 of what answers. Jobs go on."""
        self.daemons.stop("dashboard", signal.SIGKILL)

    def start_dashboard(self) -> None:
        """It answers again: nothing in Ray would see to that."""
        kept = read_json(self.root / "dashboard.argv.json") or {}
        self.daemons.start("dashboard", kept["argv"], self._env())
        self._await_answer()

    def mend(self) -> None:
        """Starts again what a test has broken, and ends its jobs."""
        if not self.daemons.is_running("raylet"):
            self.restart()
        if not self.daemons.is_running("dashboard"):
            self.start_dashboard()
        for job in self._open():
            self.ask("POST", f"/api/jobs/{job['submission_id']}/stop")
        # One that waits for more than there is cannot be stopped, and takes nothing.
        wait_until(
            lambda: not [job for job in self._open() if job["status"] == "RUNNING"],
            "every running Ray job to end",
            details=self._open,
        )

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the dashboard answers. Raises httpx.HTTPError."""
        token = {"Authorization": f"Bearer {self.token_file.read_text()}"}
        address = self.address + path
        answer = httpx.request(method, address, json=body, headers=token, timeout=PATIENCE_SECONDS, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def session(self) -> Process | None:
        """The process that began the session of all its servers."""
        return Process.recorded(read_json(self.root / "session.json"))

    def _begun(self) -> dict[str, int]:
        """Starts its processes, and returns them by name."""
        with (self.root / "start.log").open("ab") as log:
            begun = subprocess.Popen(
                [str(python()), "-P", str(HERE / "start.py"), json.dumps(self._params())],
                cwd=self.root,
                env=self._env(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        if (first := Process.at(begun.pid)) is not None:
            write_json(self.root / "session.json", asdict(first))
        said, _ = begun.communicate(timeout=PATIENCE_SECONDS)
        if begun.returncode:
            raise CannotStart(self.daemons.last_words("start"))
        return dict(json.loads(said.splitlines()[-1]))

    def _open(self) -> list[Any]:
        return [job for job in self.ask("GET", "/api/jobs/") if job["status"] not in ENDED]

    def _await_answer(self) -> None:
        wait_until(
            self._answers,
            "the Ray dashboard to answer",
            details=lambda: self.daemons.last_words(f"{TEMP}/session_latest/logs/dashboard"),
        )

    def _answers(self) -> bool:
        try:
            return bool(self.ask("GET", "/api/version"))
        except httpx.HTTPError:
            return False

    def _keep_token(self) -> None:
        if not self.token_file.exists():
            self.token_file.touch(mode=0o600)
            self.token_file.write_text(secrets.token_hex(32))

    def _params(self) -> dict[str, Any]:
        """Of RayParams."""
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
            # Any that are free, so that two heads do not meet.
            "min_worker_port": 0,
            "max_worker_port": 0,
            "dashboard_agent_listen_port": 0,
            "gcs_server_port": self._ports()["gcs_server_port"],
            "dashboard_port": self._ports()["dashboard_port"],
        }

    def _env(self) -> dict[str, str]:
        """Nothing of ours reaches Ray, whose processes give theirs to jobs."""
        return {
            "PATH": f"{python().parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            MARK: str(self.root),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.token_file),
            # As on systems where Ray keeps to loopback; on Linux it would listen at every address.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DISABLE_DOCKER_CPU_WARNING": "1",
            "RAY_enable_worker_prestart": "0",
            "RAY_prestart_worker_first_driver": "0",
            "DASHBOARD_METRIC_PORT": str(self._ports()["metrics"]),
        }

    def _ports(self) -> dict[str, int]:
        """Those of the first start, from then on."""
        kept = self.root / "ports.json"
        if (ports := read_json(kept)) is None:
            ports = {name: unused_port() for name in ("gcs_server_port", "dashboard_port", "metrics")}
            write_json(kept, ports)
        return ports
