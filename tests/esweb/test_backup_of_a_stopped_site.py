"""A stopped site is backed up and restored with its bundled servers, by the commands that users run."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from esweb.embedded import Postgres, database_url
from tests import migrated_database
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
    with pytest.raises(CommandError, match=r"^The database already contains tables"):
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


def test_archive_of_a_newer_esweb_is_refused(archive: Path, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "new"
    file = tmp_path / "newer.tar"
    content = archive.read_bytes()
    newest = max(path.stem for path in (ROOT / "runs" / "migrations").glob("0*.py"))
    newest_quoted = f'"{newest}"'.encode()
    assert newest_quoted in content
    file.write_bytes(content.replace(newest_quoted, f'"9{newest[1:]}"'.encode()))
    refused(file, "A newer esweb", f"runs.9{newest[1:]}")


def refused(file: Path, *words: str) -> None:
    """Check that restoring reports all of these in one line and leaves no database and no file of the archive."""
    with pytest.raises(CommandError) as error:
        call_command("restore", file)
    assert all(word in str(error.value) for word in words), error.value
    assert len(str(error.value).splitlines()) == 1
    assert {path.name for path in Path(django_settings.DATA_DIR).iterdir()} <= {"lock", "secret-key"}
