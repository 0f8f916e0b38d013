"""A database that a newer esweb has migrated is refused with one sentence by every command that starts esweb on it.

`make test` calls these commands in its own process, `make soak` starts them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from esweb.bootstrap.collectstatic import StaticCollection
from esweb.bootstrap.prepare import prepare
from esweb.bootstrap.schema_version import unknown_migrations
from esweb.embedded import CannotStart, Postgres, database_url
from esweb.supervisor import web
from tests import migrated_database
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
REFUSAL = (
    "A newer esweb created this database: this one does not know the migration runs.9000_from_the_future. "
    "Install that version again, or restore a backup of this version."
)
FUTURE = "INSERT INTO django_migrations (app, name, applied) VALUES ('runs', '9000_from_the_future', now())"


@pytest.fixture
def newer_test_database(db: None) -> Iterator[None]:
    """Record a migration of the future in the tests' database, for all its connections."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as own:
        own.execute(FUTURE)
        yield
        own.execute("DELETE FROM django_migrations WHERE name = '9000_from_the_future'")


@pytest.mark.usefixtures("newer_test_database")
def test_newer_database_is_refused_by_migrate_and_before_anything_is_prepared() -> None:
    with pytest.raises(CommandError, match=re.escape(REFUSAL)):
        call_command("migrate")
    not_collected = mock.Mock(spec=StaticCollection)
    with pytest.raises(CannotStart, match=re.escape(REFUSAL)):
        prepare(not_collected)
    not_collected.start.assert_not_called()


@pytest.mark.usefixtures("newer_test_database")
def test_newer_database_is_refused_by_the_web(monkeypatch: pytest.MonkeyPatch) -> None:
    for changes_process in ("keep_memory", "load", "logging"):
        monkeypatch.setattr(web, changes_process, mock.Mock())
    server = mock.Mock()
    monkeypatch.setattr(web.uvicorn, "Server", server)
    with pytest.raises(CannotStart, match=re.escape(REFUSAL)):
        web.main(f"127.0.0.1:{unused_port()}")
    server.assert_not_called()


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a data folder in which everything is migrated, and one migration of the future too."""
    data = tmp_path_factory.mktemp("newer")
    migrated_database.copy_to(data, Path(os.environ["ESWEB_CACHE"]))
    server = Postgres(data, durable=False)
    server.start(PATIENCE_SECONDS)
    with psycopg.connect(database_url(data), autocommit=True) as own:
        own.execute(FUTURE)
    try:
        yield data
    finally:
        server.stop(PATIENCE_SECONDS)


@pytest.mark.soak
@pytest.mark.parametrize("argv", [["manage.py", "migrate"], ["-m", "esweb.supervisor.web", "127.0.0.1:{port}"]])
def test_newer_database_is_refused_in_one_sentence(newer: Path, argv: list[str]) -> None:
    env = {**os.environ, "ESWEB_DATA": str(newer), "DATABASE_URL": database_url(newer)}
    words = [word.format(port=unused_port()) for word in argv]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env | {"DJANGO_SETTINGS_MODULE": "esweb.settings"},
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.removeprefix("CommandError: ").strip() == REFUSAL


@pytest.mark.soak
def test_newer_database_is_refused_by_up(newer: Path) -> None:
    env = {**os.environ, "DATABASE_URL": database_url(newer)}
    env.pop("REDIS_URL", None)
    argv = [sys.executable, ROOT / "manage.py", "up", "--data", newer, "--port", "0"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(REFUSAL)
    assert not (newer / "logs" / "web.log").exists(), "a part was started"


def test_known_squashed_and_removed_migrations_are_not_newer() -> None:
    applied = [("runs", "0001_initial"), ("auth", "0001_initial"), ("an_app_that_was_removed", "0001_initial")]
    assert unknown_migrations(applied) == []
    assert unknown_migrations([*applied, ("runs", "9001_x"), ("runs", "9000_y")]) == ["runs.9000_y", "runs.9001_x"]
