"""The fingerprint of a package covers its files and their names; its origin is a commit, with or without changes."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from workers.code import code_of, fingerprint, listing


def test_fingerprint_covers_lines_and_names(package: Path) -> None:
    seen = {fingerprint(package)}
    with (package / "train.py").open("a") as file:
        file.write("# one more\n")
    seen.add(fingerprint(package))
    (package / "train.py").rename(package / "trains.py")
    seen.add(fingerprint(package))
    assert len(seen) == 3


def test_fingerprint_ignores_compiled_and_hidden_files(package: Path) -> None:
    before = fingerprint(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "train.cpython-311.pyc").write_bytes(b"\x00")
    (package / ".train.py.swp").write_bytes(b"\x00")
    assert fingerprint(package) == before


def test_fingerprint_can_be_computed_with_sha256sum(package: Path) -> None:
    text = listing(package)
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet"], input=text, cwd=package.parent, text=True, check=False
    )
    assert checked.returncode == 0
    assert sha256(text.encode()).hexdigest() == fingerprint(package)


def git(folder: Path, *words: str) -> str:
    """Run git with a name and address of its own, independent of this machine's configuration."""
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


def test_changed_code_is_dirty(checkout: Path) -> None:
    clean = code_of(checkout)
    (checkout / "train.py").write_text("pass\n")
    dirty = code_of(checkout)
    assert dirty.commit == clean.commit and dirty.is_dirty and len(dirty.diff_sha256) == 64
    (checkout / "train.py").write_text("pass  # otherwise\n")
    assert code_of(checkout).diff_sha256 != dirty.diff_sha256


def test_untracked_file_makes_code_dirty(checkout: Path) -> None:
    (checkout / "mine.py").write_text("pass\n")
    code = code_of(checkout)
    assert code.is_dirty and not code.diff_sha256


def test_change_outside_package_is_not_dirty(checkout: Path) -> None:
    (checkout.parent / "notes.md").write_text("buy milk\n")
    assert not code_of(checkout).is_dirty


def test_code_without_checkout_has_only_its_hash(package: Path) -> None:
    assert code_of(package).commit == ""
    assert len(code_of(package).sha256) == 64


def test_package_inside_foreign_checkout_has_no_commit(package: Path) -> None:
    git(package.parent, "init", "--quiet")
    git(package.parent, "commit", "--quiet", "--allow-empty", "-m", "Nothing of esweb")
    assert code_of(package).commit == ""


def test_reading_identity_leaves_git_index_unchanged(checkout: Path) -> None:
    index = checkout.parent / ".git" / "index"
    (checkout / "train.py").touch()
    before = index.read_bytes()
    code_of(checkout)
    assert index.read_bytes() == before
