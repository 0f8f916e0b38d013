"""The files of an attempt, as an export holds them: its own where they exist, else written from its rows.

Records are the run's own files if all of them are here; then every line is exported bit for bit, with its seq and time.
They are written from the rows if the run came from elsewhere, if the work folder was cleaned, or if the attempt still
runs on a cluster's own disk, of which the copy here may be behind.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runs.exporting.record_lines import record_lines, status_line, stored_epochs
from runs.exporting.site_facts import config_json, score_lines, site_facts
from runs.exporting.zip_stream import Member
from runs.models import Attempt
from runs.models.attempt_files import CHECKPOINTS, SITE_FACTS, SITE_SCORES, STEP_NAME
from runs.models.response import Score
from workers.attempt import EXIT_RECORD, LOG_FILE, REPLAY_LOG, RUN_CONFIG
from workers.records import records_path
from workers.site_facts import RunFacts

PIECE = 1 << 20
FILES, ROWS = "files", "rows"


@dataclass(frozen=True)
class Parts:
    """The parts of an export that a user selects. Logs: log.txt and replay.jsonl."""

    has_logs: bool = True
    has_checkpoints: bool = False


def attempt_members(attempt: Attempt, run: RunFacts, folder: str, parts: Parts) -> Iterator[Member]:
    """Yield the files of the attempt's folder, one after the other."""
    directory, origin = attempt.directory, records_origin(attempt)
    yield Member(f"{folder}/{RUN_CONFIG}", [config_json(attempt.run)])
    facts = site_facts(attempt, run, origin)
    yield Member(f"{folder}/{SITE_FACTS}", [json.dumps(facts.to_json(), ensure_ascii=False, indent=1).encode()])
    has_scores = Score.objects.filter(response__attempt=attempt).exists()
    written_seqs: dict[int, dict[int, int]] = {}
    epochs = stored_epochs(attempt)
    for epoch in epochs:
        path = records_path(directory, epoch)
        pieces = (
            _whole_lines(path, is_open=attempt.is_open)
            if origin == FILES
            else record_lines(
                attempt,
                epoch,
                written_seqs.setdefault(epoch, {}) if has_scores else None,
                is_last_epoch=epoch == epochs[-1],
            )
        )
        yield Member(f"{folder}/{path.name}", pieces, _modified_at(path))
    if not epochs:
        yield Member(f"{folder}/{records_path(directory, 0).name}", [status_line(attempt)])
    if has_scores:
        yield Member(f"{folder}/{SITE_SCORES}", score_lines(attempt, written_seqs))
    yield from _own_files(directory, folder, parts)


def records_origin(attempt: Attempt) -> str:
    """Return FILES if the attempt's record files hold all that its rows do, else ROWS."""
    if attempt.cluster is not None and attempt.cluster.is_remote and attempt.drained_at is None:
        return ROWS
    files = list(attempt.record_files.all())
    sizes = [(_size(records_path(attempt.directory, file.epoch)), file.offset) for file in files]
    are_whole = all(size is not None and size >= max(offset, 1) for size, offset in sizes)
    return FILES if files and are_whole else ROWS


def checkpoint_files(directory: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of the attempt's complete checkpoints, with their names in its folder. No link is followed."""
    root = directory / CHECKPOINTS
    if root.is_symlink() or not root.is_dir():
        return
    for saved in sorted(root.iterdir()):
        if not STEP_NAME.fullmatch(saved.name) or saved.is_symlink():
            continue
        for above, _, names in os.walk(saved):
            for name in sorted(names):
                path = Path(above) / name
                if _size(path) is not None:
                    yield path, path.relative_to(directory).as_posix()


def own_files(directory: Path, parts: Parts) -> Iterator[tuple[Path, str]]:
    """Yield the attempt's own files beside its records, with their names in its folder.

    Only these: others hold the site's paths, its processes or tokens.
    """
    for name in (EXIT_RECORD, *((LOG_FILE, REPLAY_LOG) if parts.has_logs else ())):
        if _size(directory / name) is not None:
            yield directory / name, name
    if parts.has_checkpoints:
        yield from checkpoint_files(directory)


def _own_files(directory: Path, folder: str, parts: Parts) -> Iterator[Member]:
    for path, name in own_files(directory, parts):
        yield Member(f"{folder}/{name}", _read(path), _modified_at(path), is_packed=path.suffix == ".safetensors")


def _whole_lines(path: Path, *, is_open: bool) -> Iterator[bytes]:
    """Yield a file of records. The last line of a run that writes it now may be incomplete, and is left for later."""
    rest = b""
    for piece in _read(path):
        whole, separator, rest = (rest + piece).rpartition(b"\n")
        yield whole + separator
    if not is_open:
        yield rest


def _read(path: Path) -> Iterator[bytes]:
    """Yield a regular file up to its present size. A file that has gone meanwhile is empty."""
    try:
        file = _open(path)
    except OSError:
        return
    with file:
        remaining = os.fstat(file.fileno()).st_size
        while remaining and (piece := file.read(min(PIECE, remaining))):
            remaining -= len(piece)
            yield piece


def _open(path: Path) -> BinaryIO:
    """Open a regular file, and no link: a training may put a link to any file of the site in its folder."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return os.fdopen(handle, "rb")


def _size(path: Path) -> int | None:
    """Return the size of a regular file; None if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _modified_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
