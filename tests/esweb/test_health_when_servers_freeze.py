"""/healthz names the server that has frozen, and does so soon: PostgreSQL and Valkey of the test's own are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from esweb.embedded import Postgres, Valkey, database_url, redis_url
from tests.ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[2]
LATE_SECONDS = 20.0
"""Ten times as long as an answer may take."""


class Site:
    """A web process on servers of its own."""

    def __init__(self, data: Path) -> None:
        self.postgres, self.valkey = Postgres(data, durable=False), Valkey(data, durable=False)
        self.postgres.start(PATIENCE_SECONDS)
        self.valkey.start(PATIENCE_SECONDS)
        self.port = unused_port()
        self.web = subprocess.Popen(
            [sys.executable, "-m", "esweb.web", f"127.0.0.1:{self.port}"],
            cwd=ROOT,
            env={
                **os.environ, "DJANGO_SETTINGS_MODULE": "esweb.settings", "ESWEB_DATA": str(data),
                "DATABASE_URL": database_url(data), "REDIS_URL": redis_url(data), "ALLOWED_HOSTS": "esweb.example",
            },
        )  # fmt: skip

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
        self.web.kill()
        self.web.wait(PATIENCE_SECONDS)
        self.valkey.stop(PATIENCE_SECONDS)
        self.postgres.stop(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that is well."""
    running = Site(tmp_path_factory.mktemp("site"))
    try:
        wait_until(lambda: running.health()[0] == 200, "the site to be well", details=running.health)
        yield running
    finally:
        running.stop()


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


@pytest.mark.parametrize("part", ["database", "redis"])
def test_health_names_a_frozen_server_within_seconds(site: Site, part: str) -> None:
    other = {"database": "redis", "redis": "database"}[part]
    with frozen(site.postgres if part == "database" else site.valkey):
        began = time.monotonic()
        status, parts = site.health()
        seconds = time.monotonic() - began
        assert (status, parts[part]) == (503, "does not answer")
        assert seconds < LATE_SECONDS, f"/healthz answered after {seconds:.1f} s"
        wait_until(lambda: site.health()[1][other] == "ok", "the other server to be reported as well")
    wait_until(lambda: site.health() == (200, {"database": "ok", "redis": "ok"}), "the site to be well again")


def test_health_asks_a_frozen_database_in_one_thread_only(site: Site) -> None:
    site.health()
    before = site.threads()
    with frozen(site.postgres):
        for _ in range(6):
            assert site.health()[0] == 503
        assert site.threads() <= before + 2
    wait_until(lambda: site.health()[0] == 200, "the site to be well again")
