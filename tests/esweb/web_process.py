"""A web process on a PostgreSQL and a Valkey of its own, which a test kills, freezes or fills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from esweb.embedded import Postgres, Valkey, database_url, redis_url
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
LATE_SECONDS = 20.0
"""Ten times as long as /healthz may take."""


class WebProcess:
    """A web process that starts immediately; `health` reports when it replies. Its log is in `data`."""

    def __init__(self, data: Path, hosts: str = "esweb.example") -> None:
        self.postgres, self.valkey = Postgres(data, durable=False), Valkey(data, durable=False)
        self.postgres.start(PATIENCE_SECONDS)
        self.valkey.start(PATIENCE_SECONDS)
        self.port, self.log = unused_port(), data / "web.log"
        self.env = {
            **os.environ, "DJANGO_SETTINGS_MODULE": "esweb.settings", "ESWEB_DATA": str(data),
            "DATABASE_URL": database_url(data), "REDIS_URL": redis_url(data), "ALLOWED_HOSTS": hosts,
        }  # fmt: skip
        with self.log.open("wb") as log:
            argv = [sys.executable, "-m", "esweb.supervisor.web", f"127.0.0.1:{self.port}"]
            self.web = subprocess.Popen(argv, cwd=ROOT, env=self.env, stdout=log, stderr=log)

    def health(self) -> tuple[int, dict[str, str]]:
        """Return status and parts; (0, {}) if nothing listens yet."""
        try:
            answer = httpx.get(f"http://127.0.0.1:{self.port}/healthz", timeout=LATE_SECONDS)
        except httpx.ConnectError:
            return 0, {}
        return answer.status_code, answer.json()

    def threads(self) -> int:
        """Return how many threads the web process has."""
        return len(list(Path(f"/proc/{self.web.pid}/task").iterdir()))

    def stop(self) -> None:
        """Kill the web, and stop its servers."""
        self.web.kill()
        self.web.wait(PATIENCE_SECONDS)
        self.valkey.stop(PATIENCE_SECONDS)
        self.postgres.stop(PATIENCE_SECONDS)


@contextmanager
def frozen(server: Postgres | Valkey) -> Iterator[None]:
    """Stop the server and every process that it has started, and continue them at the end."""
    assert server.process is not None
    pids = [server.process.pid]
    os.kill(pids[0], signal.SIGSTOP)
    try:
        for child in children(pids[0]):
            pids.append(child)
            os.kill(child, signal.SIGSTOP)
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    """Return the processes that this one has started, which are PostgreSQL's backends and writers."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
