"""A temporary site for a benchmark: bundled PostgreSQL and Valkey in a temporary folder, and one web server on them.

The servers are durable and the limits are those of a new installation, so that users get the measured speed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from esweb.embedded import Postgres, Valkey, database_url

if TYPE_CHECKING:
    from runs.models import Experiment

ROOT = Path(__file__).resolve().parent.parent
STARTS_SECONDS = 300.0
UNSET_VARIABLES = ("DATABASE_URL", "REDIS_URL", "ESWEB_STATIC_ROOT")


@dataclass(frozen=True)
class Writer:
    """A run's attempt, and a token that may write its records."""

    run_id: int
    key: str
    token: str

    @property
    def path(self) -> str:
        """The address to which its records are pushed."""
        return f"/api/v1/attempts/{self.key}/records"

    def headers(self, content_type: str) -> dict[str, str]:
        """Return the headers that a push must carry."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}


@dataclass(frozen=True)
class Site:
    """A site: the folder of its data. Django of this very process is set up on it."""

    data: Path

    def writer(self) -> Writer:
        """Create a running attempt of a new run, in the only experiment and by its only user."""
        from runs import access
        from runs.models import Attempt, Cluster, Run

        target, config = experiment(), {"method": "es", "seed": 0}
        run = Run.objects.create(
            experiment=target, name="run", method="es", seed=0, config=config, created_by=target.owner
        )
        cluster, key = Cluster.objects.get(name="local"), f"esweb-{run.uid}-a1"
        Attempt.objects.create(run=run, n=1, key=key, cluster=cluster, state="running")
        return Writer(run.pk, key, access.issue(target.owner, "ingest", run=run)[1])

    def database_url(self, name: str) -> str:
        """Create an empty database in the same PostgreSQL and return its address."""
        from django.db import connection

        with connection.cursor() as sql:
            sql.execute(f"CREATE DATABASE {connection.ops.quote_name(name)}")
        return database_url(self.data, name)


@dataclass(frozen=True)
class Web:
    """One web server process, started as `manage.py up` starts it."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """Return the CPU seconds so far, of all its threads."""
        return cpu_seconds(self.process.pid)


@contextmanager
def site() -> Iterator[Site]:
    """Run PostgreSQL and Valkey with a migrated esweb on them. They and their folder are removed at the end."""
    data = Path(tempfile.mkdtemp(prefix="esweb-bench-"))
    for name in UNSET_VARIABLES:
        os.environ.pop(name, None)
    os.environ |= {"ESWEB_DATA": str(data), "ESWEB_STATIC_COLLECTED": "1", "ESWEB_LOG_LEVEL": "WARNING"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "esweb.settings"
    servers = [Postgres(data), Valkey(data)]
    try:
        for server in servers:
            server.start()
        _set_up()
        yield Site(data)
    finally:
        _release()
        for server in reversed(servers):
            server.stop()
        shutil.rmtree(data, ignore_errors=True)


@contextmanager
def web(log: int | None = None) -> Iterator[Web]:
    """Run a web server on the site, and end it at the end. `log`: where its log goes, as Popen takes it."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        fd = listener.fileno()
        argv = [sys.executable, "-m", "esweb.supervisor.web", str(fd)]
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(argv, env=env, cwd=ROOT, pass_fds=(fd,), stderr=log)
        try:
            server = Web(int(listener.getsockname()[1]), process)
            await_answer(f"{server.address}/healthz", process)
            yield server
        finally:
            end(process)


def settle() -> None:
    """Make the database finish the work that filling it left, which would otherwise run during the measurement."""
    from django.db import connection

    with connection.cursor() as sql:
        sql.execute("VACUUM ANALYZE")
        sql.execute("CHECKPOINT")


@contextmanager
def follower() -> Iterator[None]:
    """Run `manage.py follow` on the site, which reads the files of attempts. It ends at the end of the block."""
    process = subprocess.Popen([sys.executable, str(ROOT / "manage.py"), "follow"], cwd=ROOT)
    try:
        yield
    finally:
        end(process)


def await_answer(address: str, process: subprocess.Popen[bytes]) -> None:
    """Return once an address answers. Raise OSError if it does not in five minutes, or its server has ended."""
    give_up_at = time.monotonic() + STARTS_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310  (our own, http)
        except OSError:
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)
        else:
            return


def end(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM, and SIGKILL if the process does not end."""
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process, of all its threads, in its own code and the kernel's."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _set_up() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)


def browser_headers(username: str = "ada") -> dict[str, str]:
    """Return the headers of a browser in which a user is signed in: the owner of the experiment, or another one."""
    from django.contrib.auth.models import User
    from django.test import Client

    browser = Client()
    browser.force_login(User.objects.get_or_create(username=username)[0])
    return {"Cookie": f"sessionid={browser.cookies['sessionid'].value}", "Accept-Encoding": "gzip"}


def experiment() -> Experiment:
    """Return the only experiment; create it on the first call."""
    from django.contrib.auth.models import User

    from runs.models import Experiment

    owner, _ = User.objects.get_or_create(username="ada")
    return Experiment.objects.get_or_create(name="Benchmarks", owner=owner)[0]


def _release() -> None:
    from esweb.bootstrap.prepare import release_database

    release_database()
