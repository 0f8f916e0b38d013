"""A disk that can be full: a tmpfs of a few megabytes, mounted over a folder while a test runs.

Mounting takes root on Linux. A test that needs it is marked `@needs_small_disk`, and skipped with the reason elsewhere.
"""

from __future__ import annotations

import errno
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

BALLAST = ".ballast"
BLOCK = bytes(2**20)


class SmallDisk:
    """A disk mounted at `path`, which a ballast file fills."""

    def __init__(self, path: Path, files: int) -> None:
        self.path, self.ballast, self._files = path, path / BALLAST, files

    def fill(self) -> None:
        """Grow the ballast until no byte is free; called again, it takes what became free since.

        A disk that holds so many files only gets as many more as it takes.
        """
        with self.ballast.open("ab", buffering=0) as ballast:
            try:
                while ballast.write(BLOCK):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

        for number in range(self._files):
            with suppress(OSError):
                self.path.joinpath(f"{BALLAST}.{number}").touch()

    def make_room(self) -> None:
        """Remove the ballast."""
        for ballast in self.path.glob(f"{BALLAST}*"):
            ballast.unlink()

    def free_bytes(self) -> int:
        """Return the number of free bytes."""
        stat = os.statvfs(self.path)
        return stat.f_bavail * stat.f_frsize


@contextmanager
def small_disk(path: Path, size_mb: int, *, files: int = 0) -> Iterator[SmallDisk]:
    """Mount a disk of that size over an existing folder, whose content, owner and mode it gets.

    `files` limits how many files and folders it takes, itself included; 0 sets no limit.

    It is unmounted at the end with all its content, also while a process still uses it. Raise CalledProcessError if
    mounting is not allowed, OSError if the content does not fit.
    """
    before, content = path.stat(), Path(tempfile.mkdtemp(dir=path.parent))
    for entry in list(path.iterdir()):
        entry.rename(content / entry.name)
    _mount(path, size_mb, files)
    try:
        # `cp -a` keeps owners, modes and links; a folder of PostgreSQL needs all of them.
        subprocess.run(["cp", "-a", f"{content}/.", str(path)], check=True)
        shutil.rmtree(content)
        os.chown(path, before.st_uid, before.st_gid)
        path.chmod(before.st_mode & 0o7777)
        yield SmallDisk(path, files)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@functools.cache
def missing_requirement() -> str:
    """Return why this machine cannot mount small disks; empty if it can."""
    if os.geteuid() != 0:
        return "a small disk can be mounted by root alone"
    with tempfile.TemporaryDirectory() as folder:
        try:
            _mount(Path(folder), 1, 0)
        except (OSError, subprocess.CalledProcessError) as error:
            stderr = getattr(error, "stderr", None)
            return f"no tmpfs can be mounted here: {stderr.decode().strip() if stderr else error}"
        subprocess.run(["umount", "--lazy", folder], check=True)
    return ""


def _mount(path: Path, size_mb: int, files: int) -> None:
    options = f"size={size_mb}m,nr_inodes={files}"
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "esweb-small-disk", str(path)],
        check=True,
        capture_output=True,
    )


MOUNTABLE = not missing_requirement()
needs_small_disk = pytest.mark.skipif(not MOUNTABLE, reason=missing_requirement())
