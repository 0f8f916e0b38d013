"""No other user of the machine can read the data folder: also one that was open before, or that another user made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery.signals import celeryd_init, setup_logging
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from esweb import beat
from esweb.bootstrap.private_files import close_to_others, creating_private_files
from esweb.bootstrap.secret_key import load_secret_key
from esweb.embedded import CannotStart

NOBODY = 65534


@pytest.fixture
def open_data(tmp_path: Path) -> Iterator[Path]:
    """Return a data folder that every user can read, with files, folders, a script and a link out of it."""
    data = tmp_path / "data"
    (data / "runs" / "a1").mkdir(parents=True)
    for name, mode in (("secret-key", 0o644), ("runs/a1/records.1.jsonl", 0o666), ("runs/a1/run.sh", 0o755)):
        (data / name).write_text("content")
        (data / name).chmod(mode)
    for folder in (data, data / "runs", data / "runs" / "a1"):
        folder.chmod(0o755)
    outside = tmp_path / "outside"
    outside.write_text("")
    outside.chmod(0o644)
    (data / "link").symlink_to(outside)
    yield data


def mode(path: Path) -> int:
    """Return the permissions of a file."""
    return path.stat().st_mode & 0o777


def test_open_data_folder_is_closed_to_other_users(open_data: Path) -> None:
    close_to_others(open_data)
    modes = {str(path.relative_to(open_data)): mode(path) for path in open_data.rglob("*") if not path.is_symlink()}
    assert mode(open_data) == 0o700
    assert modes == {
        "runs": 0o700, "runs/a1": 0o700, "secret-key": 0o600, "runs/a1/records.1.jsonl": 0o600,
        "runs/a1/run.sh": 0o700,
    }  # fmt: skip
    assert mode(open_data.parent / "outside") == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_data_folder_of_another_user_is_refused_in_a_sentence(open_data: Path, settings: Settings) -> None:
    os.chown(open_data, NOBODY, -1)
    settings.DATA_DIR = open_data
    with pytest.raises(CommandError, match=rf"^The data folder \S+ belongs to another user \(uid {NOBODY}\), who can"):
        call_command("up", port=0)
    with pytest.raises(CannotStart):
        close_to_others(open_data)
    assert mode(open_data) == 0o755


def test_missing_data_folder_needs_no_closing(tmp_path: Path) -> None:
    close_to_others(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()


def test_new_files_are_private_within_the_block_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with creating_private_files():
            (tmp_path / "inner").write_text("")
        (tmp_path / "outer").write_text("")
    finally:
        os.umask(before)
    assert (mode(tmp_path / "inner"), mode(tmp_path / "outer")) == (0o600, 0o644)


def test_secret_key_that_was_copied_is_closed(tmp_path: Path) -> None:
    key = load_secret_key(tmp_path)
    (tmp_path / "secret-key").chmod(0o644)
    assert load_secret_key(tmp_path) == key
    assert mode(tmp_path / "secret-key") == 0o600


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Let the tests' process create files that everybody can read, until the test has ended."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def present_umask() -> int:
    """Return the umask of this process."""
    os.umask(mask := os.umask(0))
    return mask


@pytest.mark.usefixtures("open_umask")
def test_worker_without_up_creates_private_files() -> None:
    celeryd_init.send(sender="worker", instance=None, conf=None, options={})
    assert present_umask() == 0o077


@pytest.mark.usefixtures("open_umask")
def test_beat_without_up_creates_private_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)
    setup_logging.send(sender=beat, loglevel=30, logfile=None, format="", colorize=False)
    assert present_umask() == 0o077
