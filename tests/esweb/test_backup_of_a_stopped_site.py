"""A stopped site is backed up and restored with its bundled servers, by the commands that users run."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from esweb.embedded import Postgres, database_url
from tests import migrated_database
from tests.esweb.rewritten_archives import rewritten
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
QUERY = "SELECT app, name FROM django_migrations ORDER BY id"


def manage(*words: str | Path, key: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of manage.py with the bundled servers, and SECRET_KEY if one is given."""
    env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL", "ESWEB_DATA")}
    env |= {"SECRET_KEY": key} if key else {}
    argv = [sys.executable, ROOT / "manage.py", *words]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)


def rows(data: Path) -> list[tuple[object, ...]]:
    """Return the migrations of a stopped site's database."""
    server = Postgres(data, durable=False)
    server.start(PATIENCE_SECONDS)
    try:
        with psycopg.connect(database_url(data)) as connection:
            return connection.execute(QUERY).fetchall()
    finally:
        server.stop(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a migrated site that is stopped."""
    data = tmp_path_factory.mktemp("site")
    migrated_database.copy_to(data, Path(os.environ["ESWEB_CACHE"]))
    return data


@pytest.fixture(scope="module")
def archive(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site's backup, with a key from the environment."""
    file = tmp_path_factory.mktemp("backups") / "site.tar"
    done = manage("backup", file, "--data", site, key="a key of the environment")
    assert done.returncode == 0, done.stderr
    return file


def test_restored_site_has_the_database_and_the_key_of_the_environment(
    site: Path, archive: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = manage("restore", archive, "--data", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / "secret-key").read_text() == "a key of the environment"
    assert rows(tmp_path / "new") == rows(site)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    settings.DATA_DIR, settings.DATABASE_URL = tmp_path / "new", database_url(tmp_path / "new")
    with pytest.raises(CommandError, match=r"already contains a database"):
        call_command("restore", archive)


def test_archive_is_private_and_alone_in_its_folder(archive: Path) -> None:
    assert archive.stat().st_mode & 0o777 == 0o600
    assert list(archive.parent.iterdir()) == [archive]


def test_existing_file_is_not_replaced(site: Path, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = site
    file = tmp_path / "mine"
    file.write_text("mine")
    with pytest.raises(CommandError, match="already exists"):
        call_command("backup", file)
    assert file.read_text() == "mine"


def flip(content: bytes) -> bytes:
    """Change a byte inside the dump of the database."""
    at = content.index(b"PGDMP") + 4000
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def cut(content: bytes) -> bytes:
    """Leave only the first half."""
    return content[: len(content) // 2]


@pytest.mark.parametrize(
    ("damage", "message"),
    [(flip, "database.dump has the wrong checksum"), (cut, "cannot be unpacked: unexpected end of data")],
)
def test_damaged_archive_is_refused_and_leaves_nothing(
    archive: Path, tmp_path: Path, settings: Settings, damage: Callable[[bytes], bytes], message: str
) -> None:
    settings.DATA_DIR = tmp_path / "new"
    file = tmp_path / "damaged.tar"
    file.write_bytes(damage(archive.read_bytes()))
    refused(file, message)


def test_member_outside_the_folder_is_refused(archive: Path, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "new"
    file = tmp_path / "hostile.tar"
    file.write_bytes(archive.read_bytes())
    with tarfile.open(file, "a") as tar:
        tar.add(archive, "runs/../../x")
    refused(file, "'runs/../../x'")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"migrations": [["runs", "9000_x"]]}, ["A newer esweb (0.1.0)", "does not know the migration runs.9000_x."]),
        (
            {"migrations": [["teams", "0001_initial"]]},
            ["A newer esweb", "does not know the migration teams.0001_initial"],
        ),
        ({"esweb": "900.0"}, ["A newer esweb (900.0) created this archive: this one is "]),
        ({"format": 900, "esweb": "900.0"}, ["A newer esweb (900.0) created this archive. Install that version"]),
    ],
    ids=["migration", "app", "version", "format"],
)
def test_archive_of_a_newer_esweb_is_refused(
    archive: Path, tmp_path: Path, settings: Settings, changes: dict[str, Any], words: list[str]
) -> None:
    settings.DATA_DIR = tmp_path / "new"
    refused(rewritten(archive, tmp_path / "newer.tar", lambda manifest: replace(manifest, **changes).to_json()), *words)


def test_damaged_manifest_is_refused(archive: Path, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "new"
    damaged = rewritten(
        archive, tmp_path / "damaged.tar", lambda manifest: manifest.to_json().replace("runs", "rums", 1)
    )
    refused(damaged, "its manifest has the wrong checksum")


def test_failed_restore_leaves_an_empty_folder_empty(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    file = tmp_path / "damaged.tar"
    file.write_bytes(flip(archive.read_bytes()))
    done = manage("restore", file, "--data", tmp_path / "new")
    assert done.returncode == 1 and "wrong checksum" in done.stderr
    assert [*(tmp_path / "new").iterdir()] == []


def test_failed_restore_leaves_what_was_there(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = data = tmp_path / "old"
    data.mkdir()
    (data / "secret-key").write_text("a key of before")
    with pytest.raises(CommandError, match="does not exist"):
        call_command("restore", tmp_path / "nothing.tar")
    assert {path.name: path.read_text() for path in data.iterdir()} == {"secret-key": "a key of before"}


def refused(file: Path, *words: str) -> None:
    """Check that restoring reports all of these in one line and leaves nothing."""
    with pytest.raises(CommandError) as error:
        call_command("restore", file)
    assert all(word in str(error.value) for word in words), error.value
    assert len(str(error.value).splitlines()) == 1
    assert not Path(django_settings.DATA_DIR).exists()
