"""See whether a folder has changed, and whether it may still grow, from the names, sizes and times of its files."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runs.importing.scan import IGNORED_FOLDERS
from runs.models.attempt_files import PROCESS_FILES, RECORDS_NAME
from workers.attempt import EXIT_RECORD

LOOK_SECONDS = 10.0
"""Time between two looks at a folder that grows."""
MAX_LISTED = 100_000
"""Files of a folder that are listed; an import of more would exceed its own limit."""


@dataclass(frozen=True)
class Survey:
    """`digest` of the names, sizes and times of all files. `may_grow`: an attempt in it has recorded no exit, or it
    holds no attempt, so that nothing tells its end."""

    digest: str
    may_grow: bool


def survey(path: Path) -> Survey:
    """Return what the folder, or the file, looks like now. Raise OSError if it is gone."""
    digest, recorded, ended = hashlib.sha256(), set(), set()
    for name, status in sorted(_list_files(path), key=lambda listed: listed[0]):
        file = Path(name)
        if file.name in PROCESS_FILES:
            # A heartbeat is written every second, and says nothing about what was recorded.
            continue
        digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode(errors="surrogateescape"))
        if RECORDS_NAME.fullmatch(file.name):
            recorded.add(file.parent)
        elif file.name == EXIT_RECORD:
            ended.add(file.parent)
    return Survey(digest.hexdigest(), not recorded or bool(recorded - ended))


def follow_paths(paths: Sequence[Path]) -> Iterator[bool]:
    """Yield whether any of the paths has changed since the last look, every LOOK_SECONDS while one may grow."""
    seen = None
    while True:
        surveys = [survey(path) for path in paths]
        digests = [listed.digest for listed in surveys]
        yield digests != seen
        seen = digests
        if not any(listed.may_grow for listed in surveys):
            return
        time.sleep(LOOK_SECONDS)


def _list_files(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield (path, status) of the file, or of the files inside the folder, without following links."""
    if not path.is_dir():
        yield str(path), path.lstat()
        return
    count = 0
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name not in IGNORED_FOLDERS]
        for name in names:
            if (count := count + 1) > MAX_LISTED:
                return
            file = Path(folder, name)
            try:
                yield str(file), file.lstat()
            except FileNotFoundError:
                # Programs replace their files while they run.
                continue
