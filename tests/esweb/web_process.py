"""A web process on a PostgreSQL and a Valkey of its own, which a test kills, freezes or fills."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx

from esweb.embedded import Postgres, Valkey, database_url, redis_url
from tests import migrated_database
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.config.cache import cache_folder

ROOT = Path(__file__).resolve().parents[2]
LATE_SECONDS = 20.0
"""Ten times as long as /healthz may take."""
ENCRYPTION = ssl.create_default_context()
"""Not used, but created for each request if it is missing, which takes longer than the answer."""
SEED = """
import django; django.setup()
from django.contrib.auth.models import User
from django.test import Client
from runs import access
ada = User.objects.create_superuser("ada", password="x")
browser = Client(); browser.force_login(ada)
print(*(access.issue(ada, scope)[1] for scope in ("read", "launch")), browser.cookies["sessionid"].value)
"""


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
            answer = httpx.get(f"http://127.0.0.1:{self.port}/healthz", timeout=LATE_SECONDS, verify=ENCRYPTION)
        except httpx.ConnectError:
            return 0, {}
        return answer.status_code, answer.json()

    def threads(self) -> int:
        """Return how many threads the web process has."""
        return len(list(Path(f"/proc/{self.web.pid}/task").iterdir()))

    def stop(self) -> int:
        """End the web as its supervisor does, then its servers. Return the web's exit code."""
        self.web.terminate()
        code = self.web.wait(PATIENCE_SECONDS)
        self.valkey.stop(PATIENCE_SECONDS)
        self.postgres.stop(PATIENCE_SECONDS)
        return code


@dataclass(frozen=True)
class Site:
    """A web process, the text of a token of each scope, and a browser's session."""

    process: WebProcess
    read: str
    launch: str
    session: str

    def ask(self, method: str, path: str, **more: object) -> httpx.Response:
        """Return the answer. Raise httpx.TransportError if none comes."""
        address = f"http://127.0.0.1:{self.process.port}{path}"
        return httpx.request(method, address, timeout=PATIENCE_SECONDS, verify=ENCRYPTION, **more)  # type: ignore[arg-type]

    def page(self) -> httpx.Response:
        return self.ask("GET", "/", headers={"Cookie": f"sessionid={self.session}"})

    def fragment(self) -> httpx.Response:
        return self.ask("GET", "/", headers={"Cookie": f"sessionid={self.session}", "HX-Request": "true"})

    def api_read(self) -> httpx.Response:
        return self.ask("GET", "/api/v1/runs", headers={"Authorization": f"Bearer {self.read}"})

    def api_write(self) -> httpx.Response:
        new = {"name": uuid4().hex, "question": "Does it last?"}
        return self.ask("POST", "/api/v1/experiments", json=new, headers={"Authorization": f"Bearer {self.launch}"})

    def launch_run(self) -> httpx.Response:
        new = {"experiment_name": "Lasting", "preset": "es-tiny", "seed": 1}
        return self.ask("POST", "/api/v1/runs", json=new, headers={"Authorization": f"Bearer {self.launch}"})

    def static(self) -> httpx.Response:
        return self.ask("GET", "/static/css/app.css")


REQUESTS: dict[str, Callable[[Site], httpx.Response]] = {
    "page": Site.page,
    "fragment": Site.fragment,
    "API read": Site.api_read,
    "API write": Site.api_write,
    "launch": Site.launch_run,
    "static file": Site.static,
}


@contextmanager
def running_site(data: Path) -> Iterator[Site]:
    """Run a healthy site with one user while the block runs. The web must end by SIGTERM."""
    migrated_database.copy_to(data, cache_folder())
    process = WebProcess(data, "127.0.0.1")
    try:
        argv = [sys.executable, "-c", SEED]
        done = subprocess.run(argv, cwd=ROOT, env=process.env, stdout=subprocess.PIPE, text=True, check=True)
        wait_until(lambda: process.health()[0] == 200, "the site to be well", details=process.health)
        yield Site(process, *done.stdout.split())
    finally:
        code = process.stop()
    # uvicorn ends in order, and then by the signal that it was sent.
    assert code in (0, -signal.SIGTERM)


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
