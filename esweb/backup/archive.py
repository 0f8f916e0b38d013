"""The archive: a tar of plain files, whose last member lists all the others with their sizes and checksums."""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from workers.attempt import sync_directory

FORMAT = 1
MANIFEST, DUMP, SECRET_KEY, ADMIN_PASSWORD = "manifest.json", "database.dump", "secret-key", "admin-password"
FOLDERS = ("runs", "code")
MODE = 0o600


class BackupError(Exception):
    """A backup or restore that cannot be done; the message gives the reason and the remedy, in a sentence."""


@dataclass(frozen=True)
class Member:
    """A file of the archive. `size` is in bytes."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """An archive describes itself here. `migrations` are (app, name) of those that its database has."""

    esweb: str
    created_at: str
    migrations: list[tuple[str, str]]
    members: dict[str, Member] = field(default_factory=dict)
    format: int = FORMAT

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Read a manifest. Raise BackupError if it is not one, or of a newer format."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data["format"] > FORMAT:
                raise BackupError("A newer esweb created this archive: install that version to restore it.")
            members = {name: Member(member["size"], member["sha256"]) for name, member in data["members"].items()}
            migrations = [(app, name) for app, name in data["migrations"]]
            return cls(data["esweb"], data["created_at"], migrations, members, data["format"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BackupError("The archive's manifest cannot be read: use another backup.") from error


class ArchiveWriter:
    """Adds files to an archive and notes what it added."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.members: dict[str, Member] = {}

    def add_text(self, name: str, text: str) -> None:
        """Add a small private file."""
        content = text.encode()
        self._add(name, io.BytesIO(content), len(content), MODE)

    def add_file(self, name: str, path: Path) -> None:
        """Add a file up to its present size. Raise FileNotFoundError, or BackupError if it shrinks."""
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            self._add(name, file, stat.st_size, stat.st_mode & 0o777, int(stat.st_mtime))

    def close(self, manifest: Manifest) -> None:
        """Add the manifest, which is then whole."""
        manifest.members.update(self.members)
        self.add_text(MANIFEST, json.dumps(asdict(manifest), indent=1))

    def _add(self, name: str, file: IO[bytes], size: int, mode: int, mtime: int = 0) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = size, mode, mtime
        reader = _HashingReader(file)
        try:
            self._tar.addfile(entry, reader)
        except OSError as error:
            if error.errno is not None:
                raise
            raise BackupError(f"{name} became shorter while it was copied. Start the backup again.") from error
        self.members[name] = Member(size, reader.digest.hexdigest())


class _HashingReader(io.RawIOBase):
    """It passes a file's bytes on and computes their checksum."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece


@contextmanager
def new_archive(path: Path) -> Iterator[ArchiveWriter]:
    """Write an archive under a temporary name next to `path`; it gets its name, on disk, once the block has ended.

    Raise BackupError if the file exists already.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    refuse_existing(path)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                yield ArchiveWriter(tar)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # unlike a rename, this replaces no file that was created meanwhile
        except FileExistsError:
            refuse_existing(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)


def refuse_existing(path: Path) -> None:
    """Raise BackupError if there is a file of that name."""
    if os.path.lexists(path):
        raise BackupError(f"{path} already exists. Choose another name, or remove it first.")


def extract(archive: Path, into: Path) -> Manifest:
    """Unpack an archive and return its manifest. Raise BackupError unless every file matches the manifest."""
    try:
        with tarfile.open(archive, mode="r:") as tar:
            names = [_check_name(entry) for entry in tar]
            if len(names) != len(set(names)) or MANIFEST not in names:
                raise BackupError(f"{archive} is not a complete backup of esweb. Use another one.")
            tar.extractall(into, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise BackupError(f"{archive} cannot be unpacked: {error}. Use another backup.") from error
    manifest = Manifest.from_json((into / MANIFEST).read_bytes())
    if {*names} - {MANIFEST} != set(manifest.members) or not {DUMP, SECRET_KEY} <= set(names):
        raise BackupError(f"{archive} does not contain the files that its manifest lists. Use another backup.")
    for name, member in manifest.members.items():
        if _member(into / name) != member:
            raise BackupError(f"{archive} is damaged: {name} has the wrong checksum. Use another backup.")
    return manifest


def _check_name(entry: tarfile.TarInfo) -> str:
    """Return the member's name. Raise BackupError if it is not a plain file in one of the folders of a backup."""
    parts = entry.name.split("/")
    is_known = entry.name in (MANIFEST, DUMP, SECRET_KEY, ADMIN_PASSWORD) or (len(parts) > 1 and parts[0] in FOLDERS)
    if not entry.isreg() or not is_known or {"", ".", ".."} & {*parts}:
        raise BackupError(
            f"The archive contains {entry.name!r}, which is not part of an esweb backup. Use another one."
        )
    return entry.name


def _member(path: Path) -> Member:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return Member(path.stat().st_size, digest.hexdigest())
