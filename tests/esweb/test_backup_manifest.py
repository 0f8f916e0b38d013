"""The manifest of an archive proves its own bytes and those of all other members."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from esweb.backup import BackupError
from esweb.backup.archive import DUMP, SECRET_KEY, Manifest, Member, extract, new_archive

MANIFEST = Manifest("0.1.0", "2026-11-29T06:00:00+00:00", [("runs", "0001_initial")], {"secret-key": Member(3, "ab")})


def test_manifest_is_read_as_written() -> None:
    text = MANIFEST.to_json()
    assert Manifest.from_json(text.encode()) == MANIFEST
    assert json.loads(text)["migrations"] == [["runs", "0001_initial"]]


def test_manifest_with_any_flipped_bit_is_refused() -> None:
    text = MANIFEST.to_json().encode()
    accepted = [(at, bit) for at in range(len(text)) for bit in range(8) if is_accepted(flip(text, at, bit))]
    assert accepted == []


def flip(text: bytes, at: int, bit: int) -> bytes:
    """Change one bit."""
    return text[:at] + bytes([text[at] ^ 1 << bit]) + text[at + 1 :]


def is_accepted(text: bytes) -> bool:
    """Return whether a manifest is read."""
    try:
        Manifest.from_json(text)
    except BackupError:
        return False
    return True


def test_manifest_of_the_first_format_needs_no_checksum() -> None:
    first = replace(MANIFEST, format=1)
    assert Manifest.from_json(json.dumps(asdict(first)).encode()) == first
    assert not first.has_checksum


def test_manifest_without_its_checksum_is_refused() -> None:
    with pytest.raises(BackupError, match="wrong checksum"):
        Manifest.from_json(json.dumps(asdict(MANIFEST)).encode())


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Write a small archive, of which one member has a name that needs a header of its own."""
    with new_archive(tmp_path / "site.tar", tmp_path / "draft") as writer:
        for name in (DUMP, SECRET_KEY, f"runs/{'long' * 40}/records.1.jsonl"):
            writer.add_text(name, name)
        writer.close(replace(MANIFEST, members={}))
    return tmp_path / "site.tar"


def test_archive_with_a_damaged_name_is_refused(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(archive.read_bytes().replace(b"longlong", b"\0onglong", 1))
    with pytest.raises(BackupError, match="cannot be unpacked"):
        extract(archive, tmp_path / "unpacked")


@pytest.mark.soak
def test_archive_with_a_flipped_bit_is_refused_or_unpacked_as_written(archive: Path, tmp_path: Path) -> None:
    content, damaged = archive.read_bytes(), tmp_path / "damaged.tar"
    extract(archive, tmp_path / "unpacked")
    original, refusals = files_of(tmp_path / "unpacked"), 0
    for at in range(0, len(content), 3):
        damaged.write_bytes(flip(content, at, at % 8))
        try:
            extract(damaged, tmp_path / "other")
        except BackupError:
            refusals += 1
        else:
            assert files_of(tmp_path / "other") == original, at
        shutil.rmtree(tmp_path / "other", ignore_errors=True)
    assert refusals > 1000


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
