"""Keep the data folder to the user of the site: it holds keys, passwords, prompts and responses.

`up` closes a folder that was open before, and every process that writes there creates its files private. Jobs of a
cluster that shares the disk run as the same user.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from esweb.embedded import CannotStart
from esweb.embedded.child_process import raising_cannot_start

OTHERS = 0o077
"""The permissions of a file's group and of all other users, as a mode and as a umask."""


def create_private_files() -> None:
    """Let this process, and those that it starts, create files that no other user can read."""
    os.umask(OTHERS)


@contextmanager
def creating_private_files() -> Iterator[None]:
    """Create private files in the block."""
    before = os.umask(OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def close_to_others(data: Path) -> None:
    """Take all permissions from other users, for the data folder and everything of ours in it, if it has any.

    Raise CannotStart if the folder belongs to another user, who can read all that is written there.
    """
    with raising_cannot_start(data):
        if not data.is_dir():
            return
        stat = data.stat()
        if stat.st_uid != os.geteuid():
            raise CannotStart(
                f"The data folder {data} belongs to another user (uid {stat.st_uid}), who can read the keys in it. "
                f"Choose another folder with --data, or make user {os.geteuid()} its owner with chown."
            )
        if stat.st_mode & OTHERS:
            # The folder first: after that no other user can put a link in the way.
            data.chmod(stat.st_mode & 0o777 & ~OTHERS)
            _close_entries(data, stat.st_uid)


def _close_entries(folder: Path, owner: int) -> None:
    """Close the files and folders below. A link, and a file of another user, is left as it is."""
    with os.scandir(folder) as entries:
        for entry in entries:
            stat = entry.stat(follow_symlinks=False)
            if entry.is_symlink() or stat.st_uid != owner:
                continue
            if stat.st_mode & OTHERS:
                Path(entry.path).chmod(stat.st_mode & 0o777 & ~OTHERS)
            if entry.is_dir(follow_symlinks=False):
                _close_entries(Path(entry.path), owner)
