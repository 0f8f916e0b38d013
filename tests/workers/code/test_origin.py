"""Where code comes from: a commit, with or without changes since; or only its files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workers.code import code_of, fingerprint


def git(folder: Path, *words: str) -> str:
    """Runs git as somebody who has a name, whatever this machine is set to."""
    name = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *name, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(package: Path) -> Path:
    """The package in a git checkout, committed."""
    git(package.parent, "init", "--quiet")
    git(package.parent, "add", "workers")
    git(package.parent, "commit", "--quiet", "-m", "All of it")
    return package


def test_committed_code_is_its_commit(checkout: Path) -> None:
    code = code_of(checkout)
    assert (code.commit, code.is_dirty, code.diff_sha256) == (git(checkout, "rev-parse", "HEAD"), False, "")
    assert code.sha256 == fingerprint(checkout)


def test_code_that_was_changed_since_its_commit_is_dirty(checkout: Path) -> None:
    clean = code_of(checkout)
    (checkout / "train.py").write_text("pass\n")
    dirty = code_of(checkout)
    assert dirty.commit == clean.commit and dirty.is_dirty and len(dirty.diff_sha256) == 64
    (checkout / "train.py").write_text("pass  # otherwise\n")
    assert code_of(checkout).diff_sha256 != dirty.diff_sha256


def test_a_file_that_was_never_committed_makes_code_dirty(checkout: Path) -> None:
    (checkout / "mine.py").write_text("pass\n")
    code = code_of(checkout)
    assert code.is_dirty and not code.diff_sha256


def test_what_changes_beside_the_package_is_not_its_code(checkout: Path) -> None:
    (checkout.parent / "notes.md").write_text("buy milk\n")
    assert not code_of(checkout).is_dirty


def test_code_that_no_checkout_knows_is_its_files_alone(package: Path) -> None:
    assert code_of(package).commit == ""
    assert len(code_of(package).sha256) == 64


def test_installed_packages_inside_of_somebody_elses_checkout_are_not_of_its_commit(package: Path) -> None:
    git(package.parent, "init", "--quiet")
    git(package.parent, "commit", "--quiet", "--allow-empty", "-m", "Nothing of esweb")
    assert code_of(package).commit == ""


def test_looking_leaves_the_checkout_as_it_is(checkout: Path) -> None:
    index = checkout.parent / ".git" / "index"
    (checkout / "train.py").touch()
    before = index.read_bytes()
    code_of(checkout)
    assert index.read_bytes() == before
