"""A site of its own for a benchmark: bundled PostgreSQL and Valkey in a temporary folder, and one web server on them.

The servers are durable and the limits are those of a new installation: what is measured is what people get.
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
OTHERS = ("DATABASE_URL", "REDIS_URL", "ESWEB_STATIC_COLLECTED")


@dataclass(frozen=True)
class Writer:
    """A run's attempt, and a token that may write its records."""

    run_id: int
    key: str
    token: str

    @property
    def path(self) -> str:
        """Where its records are pushed."""
        return f"/api/v1/attempts/{self.key}/records"

    def headers(self, content_type: str) -> dict[str, str]:
        """What a push must carry."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}


@dataclass(frozen=True)
class Site:
    """Where the data lie; Django of this very process is set up on them."""

    data: Path

    def writer(self) -> Writer:
        """A new run of the one experiment and the one person that there are, with an attempt that is running."""
        from runs import access
        from runs.models import Attempt, Cluster, Run

        found, config = experiment(), {"method": "es", "seed": 0}
        made = Run.objects.create(
            experiment=found, name="run", method="es", seed=0, config=config, created_by=found.owner
        )
        cluster, key = Cluster.objects.get(name="local"), f"esweb-{made.uid}-a1"
        Attempt.objects.create(run=made, n=1, key=key, cluster=cluster, state="running")
        return Writer(made.pk, key, access.issue(found.owner, "ingest", run=made)[1])

    def database_url(self, name: str) -> str:
        """Address of another database of the same PostgreSQL, made empty."""
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
        """What it has used so far, of all its threads."""
        return cpu_seconds(self.process.pid)


@contextmanager
def site() -> Iterator[Site]:
    """PostgreSQL and Valkey with a migrated esweb on them. They and their folder go away at the end."""
    data = Path(tempfile.mkdtemp(prefix="esweb-bench-"))
    for name in OTHERS:
        os.environ.pop(name, None)
    os.environ |= {"ESWEB_DATA": str(data), "DJANGO_SETTINGS_MODULE": "esweb.settings", "ESWEB_LOG_LEVEL": "WARNING"}
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
def web() -> Iterator[Web]:
    """A web server on the site, ended at the end."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        fd = listening.fileno()
        argv = [sys.executable, "-m", "esweb.supervisor.web", str(fd)]
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(argv, env=env, cwd=ROOT, pass_fds=(fd,))
        try:
            server = Web(int(listening.getsockname()[1]), process)
            await_answer(f"{server.address}/healthz", process)
            yield server
        finally:
            end(process)


def settle() -> None:
    """Lets the database do what filling it left to be done, which it would else do beside what is measured."""
    from django.db import connection

    with connection.cursor() as sql:
        sql.execute("VACUUM ANALYZE")
        sql.execute("CHECKPOINT")


@contextmanager
def follower() -> Iterator[None]:
    """`manage.py follow` on the site: what attempts write to their files comes in. Ended at the end."""
    process = subprocess.Popen([sys.executable, str(ROOT / "manage.py"), "follow"], cwd=ROOT)
    try:
        yield
    finally:
        end(process)


def await_answer(address: str, process: subprocess.Popen[bytes]) -> None:
    """Returns once an address answers. Raises OSError where it does not in five minutes, or its server has ended."""
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
    """SIGTERM, and SIGKILL where that is not heard."""
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process, of all its threads, in its own code and the kernel's."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _set_up() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)


def signed_in() -> dict[str, str]:
    """The headers of a browser in which the one person is signed in."""
    from django.test import Client

    browser = Client()
    browser.force_login(experiment().owner)
    return {"Cookie": f"sessionid={browser.cookies['sessionid'].value}", "Accept-Encoding": "gzip"}


def experiment() -> Experiment:
    """The one experiment, made when it is first asked for."""
    from django.contrib.auth.models import User

    from runs.models import Experiment

    owner, _ = User.objects.get_or_create(username="ada")
    return Experiment.objects.get_or_create(name="Benchmarks", owner=owner)[0]


def _release() -> None:
    from esweb.bootstrap.prepare import release_database

    release_database()
