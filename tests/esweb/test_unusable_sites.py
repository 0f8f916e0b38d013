"""A site that this code must not use is refused with one sentence by every command and process that starts on it.

That is a database that a newer esweb has migrated, and a site whose restore has not finished. `make test` calls what
each process calls first, `make soak` starts the processes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from unittest import mock

import celery.signals
import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from esweb import beat
from esweb import celery as worker
from esweb.bootstrap.collectstatic import StaticCollection
from esweb.bootstrap.prepare import prepare
from esweb.bootstrap.schema_version import unknown_migrations
from esweb.bootstrap.unfinished_restore import UnfinishedRestore, mark_database, unmark_database
from esweb.database.base import DatabaseWrapper
from esweb.embedded import CannotStart, Postgres, database_url
from esweb.middleware.outage_errors import DATABASE
from esweb.middleware.outages import unavailable
from esweb.supervisor import web
from tests import migrated_database
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
REFUSAL = (
    "A newer esweb created this database: this one does not know the migration {app}.9000_from_the_future. "
    "Install that version again, or restore a backup of this version."
)
FUTURE = "INSERT INTO django_migrations (app, name, applied) VALUES (%s, '9000_from_the_future', now())"
ARCHIVE, FOLDER = Path("/backups/the site.tar"), Path("/srv/esweb")
REPAIR = "Run `./manage.py restore '/backups/the site.tar' --data {folder}`"


@contextmanager
def newer(app: str) -> Iterator[str]:
    """Record a migration of the future in the tests' database, for all its connections; yield the refusal."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as own:
        own.execute(FUTURE, [app])
        try:
            yield REFUSAL.format(app=app)
        finally:
            own.execute("DELETE FROM django_migrations WHERE name = '9000_from_the_future'")


@contextmanager
def marked_database() -> Iterator[str]:
    """Mark the tests' database as one whose restore has not finished; yield a part of the refusal."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as own:
        mark_database(own, ARCHIVE, FOLDER)
        try:
            yield REPAIR.format(folder=FOLDER)
        finally:
            unmark_database(own, FOLDER)


@contextmanager
def marked_folder() -> Iterator[str]:
    """Mark the data folder as one whose restore has not finished; yield a part of the refusal."""
    mark = UnfinishedRestore(str(ARCHIVE), (), is_new_folder=False)
    mark.write(django_settings.DATA_DIR)
    try:
        yield REPAIR.format(folder=django_settings.DATA_DIR)
    finally:
        mark.remove(django_settings.DATA_DIR)


def start_web() -> None:
    """Start the web, without what would change this process, and without a server."""
    names = ("keep_memory", "load", "logging", "create_private_files", "raise_file_limit", "uvicorn")
    with mock.patch.multiple(web, **dict.fromkeys(names, mock.DEFAULT)) as patched:
        try:
            web.main(f"127.0.0.1:{unused_port()}")
        finally:
            patched["uvicorn"].Server.assert_not_called()


def prepare_up() -> None:
    """Prepare a site as `up` does, and see that nothing is prepared."""
    collection = mock.Mock(spec=StaticCollection)
    try:
        prepare(collection)
    finally:
        collection.start.assert_not_called()


def call_first(signal: celery.signals.Signal, receiver: Callable[[], None]) -> Callable[[], None]:
    """Return the receiver, which Celery calls when it sends that signal."""
    assert receiver in [reference() for _, reference in signal.receivers]
    return receiver


ENTRIES: dict[str, Callable[[], object]] = {
    "up": prepare_up,
    "migrate": lambda: call_command("migrate"),
    "follow": lambda: call_command("follow", once=True),
    "web": start_web,
    "worker": call_first(celery.signals.celeryd_init, worker.refuse_unusable_site),
    "beat": call_first(celery.signals.beat_init, beat.refuse_unusable_site),
}


@pytest.fixture
def own_folder(tmp_path: Path, settings: Settings) -> None:
    """Give the test a data folder of its own."""
    settings.DATA_DIR = tmp_path


@pytest.mark.usefixtures("db", "own_folder")
@pytest.mark.parametrize(
    "unusable",
    [lambda: newer("runs"), lambda: newer("teams"), marked_database, marked_folder],
    ids=["newer", "newer by an app", "marked database", "marked folder"],
)
def test_unusable_site_is_refused_by_every_entry(unusable: Callable[[], AbstractContextManager[str]]) -> None:
    with unusable() as refusal:
        for name, entry in ENTRIES.items():
            with pytest.raises((CommandError, CannotStart, SystemExit), match=re.escape(refusal)):
                entry()
                pytest.fail(f"{name} starts")


@pytest.mark.usefixtures("own_folder")
def test_incomplete_site_is_refused_by_up_before_any_server_starts(tmp_path: Path) -> None:
    with marked_folder() as refusal, pytest.raises(CommandError, match=re.escape(refusal)):
        call_command("up", port=0)
    assert {path.name for path in tmp_path.iterdir()} == {"lock"}


def test_newer_database_that_was_unreachable_at_the_start_is_refused_by_the_first_connection(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DatabaseWrapper, "_is_checked", False)
    with newer("teams") as refusal:
        with pytest.raises(OperationalError, match=re.escape(refusal)) as error:
            connection._open(connection.get_connection_params())  # type: ignore[attr-defined]
        assert isinstance(error.value, ImproperlyConfigured), "manage.py would print a traceback"
    response = unavailable(RequestFactory().get("/api/v1/runs"), DATABASE, error=error.value, began=True)
    assert (response.status_code, "teams" in response.content.decode()) == (503, False)
    assert "The installed esweb cannot use this database" in response.content.decode()
    connection._open(connection.get_connection_params()).close()  # type: ignore[attr-defined]
    assert DatabaseWrapper._is_checked


def test_squashed_migrations_are_not_newer() -> None:
    applied = [("runs", "0001_initial"), ("auth", "0001_initial")]
    assert unknown_migrations(applied) == []
    assert unknown_migrations([*applied, ("runs", "9001_x"), ("teams", "9000_y")]) == ["runs.9001_x", "teams.9000_y"]


@pytest.fixture(scope="module")
def newer_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a data folder in which everything is migrated, and one migration of the future too."""
    data = tmp_path_factory.mktemp("newer")
    migrated_database.copy_to(data, Path(os.environ["ESWEB_CACHE"]))
    server = Postgres(data, durable=False)
    server.start(PATIENCE_SECONDS)
    with psycopg.connect(database_url(data), autocommit=True) as own:
        own.execute(FUTURE, ["runs"])
    try:
        yield data
    finally:
        server.stop(PATIENCE_SECONDS)


@pytest.mark.soak
@pytest.mark.parametrize(
    "argv",
    [
        ["manage.py", "migrate"],
        ["manage.py", "follow"],
        ["manage.py", "createtoken", "ada", "--scope", "read"],
        ["-m", "esweb.supervisor.web", "127.0.0.1:{port}"],
        ["-m", "celery", "--quiet", "--app", "esweb", "worker"],
        ["-m", "celery", "--quiet", "--app", "esweb.beat", "beat", "--pidfile", ""],
    ],
    ids=["migrate", "follow", "createtoken", "web", "worker", "beat"],
)
def test_newer_database_is_refused_in_one_sentence(newer_site: Path, argv: list[str]) -> None:
    env = {**os.environ, "ESWEB_DATA": str(newer_site), "DATABASE_URL": database_url(newer_site)}
    words = [word.format(port=unused_port()) for word in argv]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env | {"DJANGO_SETTINGS_MODULE": "esweb.settings"},
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].removeprefix("CommandError: ").strip() == REFUSAL.format(app="runs")


@pytest.mark.soak
def test_newer_database_is_refused_by_up(newer_site: Path) -> None:
    env = {**os.environ, "DATABASE_URL": database_url(newer_site)}
    env.pop("REDIS_URL", None)
    argv: list[str | Path] = [sys.executable, ROOT / "manage.py", "up", "--data", newer_site, "--port", "0"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(REFUSAL.format(app="runs"))
    assert not (newer_site / "logs" / "web.log").exists(), "a part was started"
