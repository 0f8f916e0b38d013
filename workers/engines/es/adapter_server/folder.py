"""Folders and names of adapters. A name is never used twice, so that no server answers with weights of another member.

    esweb-<run>-<process>-<number>-<member's seed or centre>

Runs that share a server never collide, and a run recognises what a killed attempt of it left behind.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import secrets
import shutil
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

ATTEMPT = re.compile(r"(esweb-[0-9A-Za-z]+)-a\d+")


class AdapterFolder:
    """A folder that this process and the server see, for the adapters of one run. `run` begins their names."""

    def __init__(self, folder: Path, run: str) -> None:
        self.run = run
        self._folder = folder.resolve()
        self._process = secrets.token_hex(4)
        self._numbers = itertools.count()

    def new_name(self, label: str) -> str:
        """Return a name that was never used."""
        return f"{self.run}{self._process}-{next(self._numbers)}-{label}"

    def write(self, name: str, save: Callable[[Path], None]) -> Path:
        """Return the new folder of an adapter, with the files that `save` writes into it. Raise OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        folder = self._folder / name
        save(folder)
        return folder

    def leftovers(self) -> list[str]:
        """Return the names of the run's adapters that lie in the folder."""
        return sorted(path.name for path in self._folder.glob(f"{self.run}*") if path.is_dir())

    def delete(self, names: Iterable[str]) -> None:
        """Delete the folders of adapters."""
        for name in names:
            shutil.rmtree(self._folder / name, ignore_errors=True)


def run_name(directory: Path) -> str:
    """Return the beginning of the names of a run's adapters: the same in every attempt of it, and in no other run."""
    directory = directory.resolve()
    if attempt := ATTEMPT.fullmatch(directory.name):
        return f"{attempt[1]}-"
    place = f"{socket.gethostname()}:{directory}"
    return f"esweb-{hashlib.sha256(place.encode()).hexdigest()[:12]}-"
