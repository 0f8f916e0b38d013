"""A database that a newer esweb has migrated is refused with one sentence by every command that starts esweb on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from esweb.bootstrap.schema_version import unknown_migrations
from esweb.embedded import Postgres, database_url
from tests import migrated_database
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
REFUSAL = (
    "A newer esweb created this database: this one does not know the migration runs.9000_from_the_future{more}. "
    "Install that version again, or restore a backup of this version."
)


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a data folder in which everything is migrated, and one migration of the future too."""
    data = tmp_path_factory.mktemp("newer")
    migrated_database.copy_to(data, Path(os.environ["ESWEB_CACHE"]))
    server = Postgres(data, durable=False)
    server.start(PATIENCE_SECONDS)
    with psycopg.connect(database_url(data), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('runs', '9000_from_the_future', now())"
        )
    try:
        yield data
    finally:
        server.stop(PATIENCE_SECONDS)


@pytest.mark.parametrize("argv", [["manage.py", "migrate"], ["-m", "esweb.supervisor.web", "127.0.0.1:{port}"]])
def test_newer_database_is_refused_in_one_sentence(newer: Path, argv: list[str]) -> None:
    env = {**os.environ, "ESWEB_DATA": str(newer), "DATABASE_URL": database_url(newer)}
    words = [word.format(port=unused_port()) for word in argv]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env | {"DJANGO_SETTINGS_MODULE": "esweb.settings"},
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.removeprefix("CommandError: ").strip() == REFUSAL.format(more="")


def test_newer_database_is_refused_by_up(newer: Path) -> None:
    env = {**os.environ, "DATABASE_URL": database_url(newer)}
    env.pop("REDIS_URL", None)
    argv = [sys.executable, ROOT / "manage.py", "up", "--data", newer, "--port", "0"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(REFUSAL.format(more=""))
    assert not (newer / "logs" / "web.log").exists(), "a part was started"


def test_known_squashed_and_removed_migrations_are_not_newer() -> None:
    applied = [("runs", "0001_initial"), ("auth", "0001_initial"), ("an_app_that_was_removed", "0001_initial")]
    assert unknown_migrations(applied) == []
    assert unknown_migrations([*applied, ("runs", "9001_x"), ("runs", "9000_y")]) == ["runs.9000_y", "runs.9001_x"]
