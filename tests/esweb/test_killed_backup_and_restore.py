"""The next backup removes what a killed one left. A restore that is killed at any step leaves a mark: no command starts
on that site, and the next restore starts from the beginning."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from esweb.backup.archive import Manifest
from esweb.backup.work_folder import DRAFT
from esweb.bootstrap.unfinished_restore import (
    MARK,
    TABLE,
    has_table,
    refuse_marked_database,
    refuse_unfinished_restore,
)
from esweb.embedded import CannotStart, Postgres, database_url
from tests.esweb.killed_commands import BACKUP_STEPS, RESTORE_STEPS, Commands
from tests.esweb.rewritten_archives import rewritten
from tests.waiting import PATIENCE_SECONDS
from workers.code.bundle import SUFFIX

KILLED = -9
QUERY = "SELECT app, name FROM django_migrations ORDER BY id"
BUNDLES = {f"{name}{SUFFIX}": name.encode() * 1000 for name in ("first", "second")}


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    """Return the process that forks commands."""
    process = Commands()
    yield process
    process.end()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the backup of a migrated site with two files and a password."""
    data, file = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("backups") / "site.tar"
    (data / "code").mkdir()
    for name, content in BUNDLES.items():
        (data / "code" / name).write_bytes(content)
    (data / "admin-password").write_text("a password")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", django_settings.DATABASE_URL)
        patch.setattr(django_settings, "DATA_DIR", data)
        call_command("backup", file, verbosity=0)
    return file


@contextmanager
def new_database(name: str) -> Iterator[str]:
    """Create an empty database on the tests' server for the block; yield its address."""
    data = Path(os.environ["ESWEB_DATA"])
    with psycopg.connect(database_url(data, "postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield database_url(data, name)
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@pytest.mark.parametrize("step", BACKUP_STEPS)
def test_next_backup_removes_what_a_killed_one_left(commands: Commands, tmp_path: Path, step: str) -> None:
    backups, url = tmp_path / "backups", django_settings.DATABASE_URL
    backups.mkdir()
    assert commands.back_up(backups / "killed.tar", tmp_path, url, step)[0] == KILLED
    (left,) = backups.iterdir()
    assert (left / DRAFT).exists()
    code, lines = commands.back_up(backups / "next.tar", tmp_path, url)
    assert (code, lines[0]) == (0, f"removed {left}, which a killed backup left")
    assert [*backups.iterdir()] == [backups / "next.tar"]


def refused_folder(archive: Path, data: Path) -> None:
    """Check that the folder is refused with the command that repairs it, and that its mark is private."""
    command = re.escape(
        f"has not finished, so the site there is incomplete. Run `./manage.py restore {archive} --data {data}`"
    )
    with pytest.raises(CannotStart, match=command):
        refuse_unfinished_restore(data)
    assert (data / MARK).stat().st_mode & 0o777 == 0o600


def whole_site(data: Path, url: str) -> None:
    """Check that everything is in place, without a mark and without anything else."""
    refuse_unfinished_restore(data)
    assert {path.name: path.read_bytes() for path in (data / "code").iterdir()} == BUNDLES
    assert (data / "secret-key").read_text() == django_settings.SECRET_KEY
    assert {path.name for path in data.iterdir()} <= {
        "code", "secret-key", "admin-password", "lock", "postgres", "sockets", "logs",
    }  # fmt: skip
    with psycopg.connect(url) as connection, psycopg.connect(django_settings.DATABASE_URL) as original:
        assert connection.execute(QUERY).fetchall() == original.execute(QUERY).fetchall()
        assert not has_table(connection, TABLE)


def test_killed_restore_is_refused_until_another_one_is_whole(
    commands: Commands, archive: Path, tmp_path: Path
) -> None:
    data = tmp_path / "restored"
    with new_database("restore_in_turn") as url:
        for step in ("folder marked", "database marked", "database loaded", "first folder placed", "database unmarked"):
            assert commands.restore(archive, data, url, step)[0] == KILLED, step
            refused_folder(archive, data)
            if step == "first folder placed":
                database_is_refused_and_used_with_another_folder(commands, archive, tmp_path / "other", url)
        assert commands.restore(archive, data, url) == (
            0, [f"the site of {archive} was whole already; the mark of its restore is removed"],
        )  # fmt: skip
        whole_site(data, url)
        code, lines = commands.restore(archive, tmp_path / "third", url)
        assert code == 1 and lines[-1].startswith("The database already contains tables. ")
        assert not (tmp_path / "third").exists()
        whole_site(data, url)


def database_is_refused_and_used_with_another_folder(commands: Commands, archive: Path, data: Path, url: str) -> None:
    """Check that the database of a killed restore is refused by itself, and that a restore with another folder empties
    it."""
    with (
        psycopg.connect(url) as connection,
        pytest.raises(CannotStart, match=re.escape(f"./manage.py restore {archive} --data {data.parent / 'restored'}")),
    ):
        refuse_marked_database(connection)
    assert commands.restore(archive, data, url, "database marked")[0] == KILLED
    with psycopg.connect(url) as connection:
        assert not has_table(connection, "django_migrations")


def test_bundled_site_of_a_killed_restore_is_refused_by_up_and_restored_anew(
    commands: Commands, archive: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = data = tmp_path / "restored"
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert commands.restore(archive, data, "", "database loaded")[0] == KILLED
    with pytest.raises(CommandError, match="has not finished, so the site there is incomplete"):
        call_command("up", port=0)
    with pytest.raises(CommandError, match="has not finished, so the site there is incomplete"):
        call_command("backup", tmp_path / "of-a-half.tar")
    assert commands.restore(archive, data, "")[0] == 0
    server = Postgres(data, durable=False)
    server.start(PATIENCE_SECONDS)
    try:
        whole_site(data, database_url(data))
    finally:
        server.stop(PATIENCE_SECONDS)


def test_archive_without_checksum_is_restored_with_a_sentence(
    commands: Commands, archive: Path, tmp_path: Path
) -> None:
    def in_format_1(manifest: Manifest) -> str:
        return json.dumps(asdict(replace(manifest, format=1)), indent=1)

    older, data = rewritten(archive, tmp_path / "older.tar", in_format_1), tmp_path / "restored"
    with new_database("restore_of_an_older_archive") as url:
        code, lines = commands.restore(older, data, url)
        assert code == 0
        assert "the archive has no checksum of its manifest: an earlier esweb wrote it" in lines
        whole_site(data, url)


@pytest.mark.soak
@pytest.mark.parametrize("step", RESTORE_STEPS)
def test_restore_killed_at_this_step_begins_anew(commands: Commands, archive: Path, tmp_path: Path, step: str) -> None:
    data = tmp_path / "restored"
    with new_database("restore_of_a_step") as url:
        assert commands.restore(archive, data, url, step)[0] == KILLED
        refused_folder(archive, data)
        assert commands.restore(archive, data, url)[0] == 0
        whole_site(data, url)


@pytest.mark.soak
def test_restore_killed_before_any_change_of_a_file_begins_anew(
    commands: Commands, archive: Path, tmp_path: Path
) -> None:
    number, code = 0, KILLED
    while code == KILLED:
        number += 1
        data = tmp_path / str(number)
        with new_database("restore_of_a_change") as url:
            code, _ = commands.restore(archive, data, url, number)
            if code == KILLED:
                assert commands.restore(archive, data, url)[0] == 0, number
            whole_site(data, url)
    assert number > 30
