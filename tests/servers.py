"""A pytest plugin: a real PostgreSQL and Valkey for each process that runs tests, in a folder removed at the end.

Addresses are set before Django reads its settings. The servers start only if a test of Django's side was collected.
DATABASE_URL and REDIS_URL, if set, name servers that are used instead.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from esweb.embedded import Postgres, Valkey
from tests import migrated_database
from workers.config.cache import cache_folder

ROOT = Path(__file__).resolve().parent.parent
NEEDS_NO_SERVER = ROOT / "tests" / "workers"
DATA = Path(tempfile.mkdtemp(prefix="esweb-tests-"))
SERVERS = [
    server(DATA, durable=False)
    for server, variable in ((Postgres, "DATABASE_URL"), (Valkey, "REDIS_URL"))
    if variable not in os.environ
]

os.environ["ESWEB_DATA"] = str(DATA)
# All tests call from one address, more in a second than people in an hour. Tests of the limits set their own.
for limit in ("CALLS", "PUSHES", "STRANGERS", "SIGN_INS"):
    os.environ.setdefault(f"ESWEB_{limit}_PER_MINUTE", "1000000")
# No test sees the GPUs of the machine that it runs on, unless it asks the driver itself.
os.environ["ESWEB_NVML_LIBRARY"] = ""
# Trainings share the cores with the tests that wait for them.
os.environ.setdefault("ESWEB_RUN_NICENESS", "0")
# Built once per machine: the models, named by the hash of their recipe, and what `migrated_database` and Ray need.
os.environ.setdefault("ESWEB_CACHE", str(cache_folder()))


def pytest_collection_finish(session: pytest.Session) -> None:
    if all(item.path.is_relative_to(NEEDS_NO_SERVER) for item in session.items) or session.config.option.collectonly:
        return
    for server in SERVERS:
        if isinstance(server, Postgres):
            migrated_database.copy_to(DATA, Path(os.environ["ESWEB_CACHE"]))
            # Django then applies what the copy lacks, which is nothing.
            session.config.option.reuse_db = True
        server.start()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    for server in reversed(SERVERS):
        server.stop()
    shutil.rmtree(DATA, ignore_errors=True)
