"""Which files of a site belong in its backup."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from workers.attempt import TOKEN_FILES
from workers.code.bundle import SUFFIX

NAMES_A_PROCESS = ("heartbeat.json", "claim")
"""Left out: on another site the process of that number is somebody else's. `claim` stands for `claim.N` too."""


def files_of_runs(runs: Path, jobs: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Path]]:
    """Yield the archive's name and the path of each file of these jobs, by the uid of their run."""
    for uid, keys in sorted(jobs.items()):
        for key in sorted(keys):
            for path in _walk(runs / uid / key):
                yield f"runs/{path.relative_to(runs).as_posix()}", path


def files_of_code(code: Path) -> Iterator[tuple[str, Path]]:
    """Yield the bundles of code that attempts ran; what is unpacked from them is made again."""
    for path in sorted(code.glob(f"*{SUFFIX}")):
        if not path.name.startswith(".") and path.is_file():
            yield f"code/{path.name}", path


def _walk(folder: Path) -> Iterator[Path]:
    """Yield plain files, without drafts (`.name`), tokens, and what names a process."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_kept(name))
        for name in sorted(names):
            path = Path(where) / name
            if _is_kept(name) and path.is_file() and not path.is_symlink():
                yield path


def _is_kept(name: str) -> bool:
    is_draft = name.startswith(".")
    return not (is_draft or name in TOKEN_FILES or name in NAMES_A_PROCESS or name.startswith("claim."))
