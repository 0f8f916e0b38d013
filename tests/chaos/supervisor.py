"""One `manage.py up` on a folder of its own: started, killed, started again, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.processes import SiteProcess, site_processes
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[2]
PART_ROLES = frozenset({"up", "web", "worker", "beat", "follow", "other"})
SLOTS = 3
# These variables would name the servers and the data of the surrounding tests.
FOREIGN_VARIABLES = frozenset({"DATABASE_URL", "REDIS_URL", "ESWEB_DATA", "DJANGO_SETTINGS_MODULE"})


class Supervisor:
    """The process `manage.py up` on `data`. Its port stays the same over all starts, like a site's known address."""

    def __init__(self, data: Path, env: Mapping[str, str]) -> None:
        self.data, self.console = data, data.with_suffix(".console")
        self.port = unused_port()
        self.env = {k: v for k, v in os.environ.items() if k not in FOREIGN_VARIABLES}
        self.env |= {"ESWEB_LOCAL_SLOTS": str(SLOTS), **env}
        self.up: subprocess.Popen[bytes] | None = None
        self._output_start = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        """Return whether `up` itself runs."""
        return self.up is not None and self.up.poll() is None

    @property
    def output(self) -> str:
        """Return the output of `up` since its last start."""
        return self.console.read_bytes()[self._output_start :].decode(errors="replace")

    def start(self) -> None:
        """Start `up` without waiting for it."""
        self._output_start = self.console.stat().st_size if self.console.exists() else 0
        argv = [sys.executable, str(ROOT / "manage.py"), "up", "--data", str(self.data), "--port", str(self.port)]
        with self.console.open("ab") as console:
            self.up = subprocess.Popen(argv, stdout=console, stderr=console, env=self.env, start_new_session=True)

    def manage(self, *arguments: str) -> str:
        """Return the output of a `manage.py` command."""
        argv = [sys.executable, str(ROOT / "manage.py"), *arguments, "--data", str(self.data)]
        result = subprocess.run(
            argv, stdout=subprocess.PIPE, text=True, env=self.env, check=True, timeout=PATIENCE_SECONDS
        )
        return result.stdout.strip()

    def processes(self, *roles: str) -> list[SiteProcess]:
        """Return the site's processes, of these roles or all."""
        return [site_process for site_process in site_processes(self.data) if not roles or site_process.role in roles]

    def kill_all(self) -> list[SiteProcess]:
        """Send SIGKILL to all processes there, `up` first, and to those started meanwhile. Return the killed ones."""
        killed: list[SiteProcess] = []
        wait_until(lambda: not self._kill_once(killed), "every process of esweb to end")
        if self.up is not None:
            self.up.wait(PATIENCE_SECONDS)
        return killed

    def wait_until_stopped(self) -> None:
        """Wait until `up` and all processes that it started have ended. Jobs continue."""
        if self.up is not None:
            self.up.wait(PATIENCE_SECONDS)
        wait_until(
            lambda: not self.processes(*PART_ROLES),
            "every process that `up` had started to end",
            details=lambda: self.processes(*PART_ROLES),
        )

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        assert self.up is not None
        self.up.terminate()
        return self.up.wait(PATIENCE_SECONDS)

    def _kill_once(self, killed: list[SiteProcess]) -> bool:
        """Send SIGKILL to every remaining process. Return False if there was none."""
        remaining = sorted(self.processes(), key=lambda site_process: site_process.role != "up")
        for site_process in remaining:
            site_process.process.send(signal.SIGKILL)
        killed += remaining
        return bool(remaining)
