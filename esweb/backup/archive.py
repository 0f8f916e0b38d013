"""The archive: a tar of plain files, whose last member lists all the others with their sizes and checksums."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from esweb.backup.weights import LeftOut
from workers.attempt import sync_directory

FORMAT = 2
"""Archives of format 1 have no checksum of their manifest."""
MANIFEST, DUMP, SECRET_KEY, ADMIN_PASSWORD = "manifest.json", "database.dump", "secret-key", "admin-password"
FOLDERS = ("runs", "code")
CHECKSUM = "manifest_sha256"
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
    """An archive describes itself here. `migrations` are (app, name) of those that its database has, `left_out` the
    checkpoints that it lacks on purpose."""

    esweb: str
    created_at: str
    migrations: list[tuple[str, str]]
    members: dict[str, Member] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    format: int = FORMAT

    @property
    def has_checksum(self) -> bool:
        """Return whether the manifest had a checksum."""
        return self.format > 1

    def to_json(self) -> str:
        """Return the manifest, whose last value is the checksum of all bytes before it. Later formats keep this."""
        text = json.dumps(asdict(self), indent=1).removesuffix("\n}") + ",\n "
        return text + _checksum_line(text.encode())

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Read a manifest. Raise BackupError if it is not one, is damaged, or is of a newer format."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data["format"] > 1 or CHECKSUM in data:
                _check_manifest(text)
            if data["format"] > FORMAT:
                raise BackupError(
                    f"A newer esweb ({data['esweb']}) created this archive. Install that version to restore it."
                )
            members = {name: Member(member["size"], member["sha256"]) for name, member in data["members"].items()}
            migrations = [(app, name) for app, name in data["migrations"]]
            left_out = [LeftOut(**folder) for folder in data.get("left_out", ())]
            return cls(data["esweb"], data["created_at"], migrations, members, left_out, data["format"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BackupError("The archive's manifest cannot be read. Use another backup.") from error


def _check_manifest(text: bytes) -> None:
    """Raise BackupError unless a manifest ends with the checksum of what precedes it."""
    start = text.rfind(f'"{CHECKSUM}"'.encode())
    if start < 0 or text[start:] != _checksum_line(text[:start]).encode():
        raise BackupError("The archive is damaged: its manifest has the wrong checksum. Use another backup.")


def _checksum_line(text: bytes) -> str:
    return f'"{CHECKSUM}": "{hashlib.sha256(text).hexdigest()}"\n}}'


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
        self.add_text(MANIFEST, manifest.to_json())

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
def new_archive(path: Path, draft: Path) -> Iterator[ArchiveWriter]:
    """Write an archive to `draft`, a new file on the same disk. It gets its name, on disk, once the block has ended.

    Raise BackupError if the file exists already.
    """
    refuse_existing(path)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            yield ArchiveWriter(tar)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # unlike a rename, this replaces no file that was created meanwhile
    except FileExistsError:
        refuse_existing(path)
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
    except (tarfile.TarError, EOFError, ValueError) as error:  # the last of a damaged number or name
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
