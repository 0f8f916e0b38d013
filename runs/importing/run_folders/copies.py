"""Copy the files of an attempt that pages and programs read later into the new attempt's own directory.

Only files with names that our trainer writes are copied, by stream, each once, never as links. A checkpoint appears
under its name only as a whole, with the weights that its record names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from runs.importing.budget import OverBudget
from runs.importing.files import MB, File
from runs.importing.records import ImportReport
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.models import Attempt, checkpoint_folder
from runs.models.attempt_files import CHECKPOINTS, COPIED_FILES, STEP_NAME
from workers.attempt import LOG_FILE, REPLAY_LOG, RUN_CONFIG
from workers.config.shallow_json import loads
from workers.records import records_path

MAX_LINE_BYTES = MB
MAX_CHECKED_BYTES = 32 * MB
"""Size of a replay log whose lines are checked: one has about a kB for each iteration."""
FREE_DISK_BYTES = 256 * MB
"""Space that an import leaves on the disk."""


def copy_files(folder: AttemptFolder, attempt: Attempt, report: ImportReport) -> None:
    """Copy the files that the attempt does not have yet, and report those that cannot be copied."""
    for epoch, file in sorted(folder.records.items()):
        _copy_file(file, file.name, records_path(attempt.directory, epoch), report)
    for name in COPIED_FILES:
        if name in folder.files:
            _copy_file(folder.files[name], folder.path_of(name), attempt.directory / name, report)
    for step, files in sorted(_checkpoints(folder).items()):
        _copy_checkpoint(files, folder.path_of(f"{CHECKPOINTS}/step-{step:06d}"), attempt, step, report)


def report_cut_files(folder: AttemptFolder, report: ImportReport) -> None:
    """Report files of lines that end within a line, and empty files. Raise OSError."""
    for name in sorted({*COPIED_FILES} & folder.files.keys()):
        file, position = folder.files[name], folder.path_of(name)
        if not file.size:
            report.add_remark(position, "is empty")
        elif name == REPLAY_LOG:
            _report_broken_updates(file, position, report)
        elif name == LOG_FILE and _last_byte(file) != b"\n":
            report.add_remark(position, "its last line is not complete: the file may be cut off")
        elif name.endswith(".json") and name != RUN_CONFIG and not _is_json(file):
            report.add_remark(position, "is not JSON: it is copied as it is")


def _report_broken_updates(file: File, position: str, report: ImportReport) -> None:
    """Report lines of a replay log that are no JSON, or that do not continue from the line before."""
    lineage = ""
    if file.size > MAX_CHECKED_BYTES:
        report.add_remark(position, f"has {file.size} bytes: it is copied, and its lines are not checked")
        return
    with file.open() as lines:
        number = 0
        while raw := lines.readline(MAX_LINE_BYTES):
            number += 1
            if not raw.strip():
                continue
            try:
                line = loads(raw)
            except ValueError as error:
                report.add_remark(f"{position}, line {number}", f"not JSON: {error}: it is copied as it is"[:200])
                lineage = ""
                continue
            parent = line.get("parent") if isinstance(line, dict) else None
            if lineage and parent is not None and parent != lineage:
                report.add_remark(f"{position}, line {number}", "does not continue from the update before it")
            lineage = line.get("lineage", "") if isinstance(line, dict) else ""


def _is_json(file: File) -> bool:
    try:
        loads(file.head(MB))
    except ValueError:
        return file.size > MB
    return True


def _copy_file(file: File, name: str, path: Path, report: ImportReport) -> None:
    try:
        if path.is_symlink() or (path.exists() and path.stat().st_size == file.size and _is_same(file, path)):
            return
        _check_space(path.parent, file.size)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.import")
        with file.open() as source, _create(draft) as copy:
            while piece := source.read(MB):
                _write(copy, piece)
            copy.truncate(copy.tell())
        draft.replace(path)
    except OSError as error:
        report.add_remark(name, f"is not copied ({file.size} bytes): {error.strerror or error}")


def _copy_checkpoint(files: Mapping[str, File], name: str, attempt: Attempt, step: int, report: ImportReport) -> None:
    folder = checkpoint_folder(attempt.directory, step)
    record = attempt.checkpoint_set.filter(step=step).order_by("-epoch", "-seq").first()
    size = sum(file.size for file in files.values())
    if folder.exists():
        return
    if record is None:
        report.add_remark(name, f"is left out ({size} bytes): the records name no checkpoint of this step")
        return
    draft = folder.with_name(f".{folder.name}.import")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        _check_space(attempt.directory, size)
        digest = hashlib.sha256()
        for path, file in sorted(files.items()):
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            with file.open() as source, _create(draft / path) as copy:
                while piece := source.read(MB):
                    _write(copy, piece)
                    # The digest of a checkpoint is that of its weights: those in folders of its own are not among them.
                    if path.endswith(".safetensors") and "/" not in path:
                        digest.update(piece)
                copy.truncate(copy.tell())
        if digest.hexdigest() != record.sha256 or size < record.bytes:
            reason = "its weights are not those that its record names, or files of it are missing"
            report.add_remark(name, f"is left out ({size} bytes): {reason}")
            return
        draft.rename(folder)
    except OSError as error:
        report.add_remark(name, f"is not copied ({size} bytes): {error.strerror or error}")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _checkpoints(folder: AttemptFolder) -> dict[int, dict[str, File]]:
    """Return step -> path in the checkpoint's folder -> file."""
    checkpoints: dict[int, dict[str, File]] = {}
    for path, file in folder.files.items():
        top, _, rest = path.partition("/")
        step, _, name = rest.partition("/")
        if top == CHECKPOINTS and (named := STEP_NAME.fullmatch(step)) and step == f"step-{int(named[1]):06d}":
            checkpoints.setdefault(int(named[1]), {})[name] = file
    return checkpoints


def _create(path: Path) -> BinaryIO:
    """Create a new file for writing; an older draft is replaced, and no link is followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "wb")


def _write(copy: BinaryIO, piece: bytes) -> None:
    """Append a piece. One of zeros alone becomes a hole, which takes no space: a small archive may hold many."""
    if piece.strip(b"\0"):
        copy.write(piece)
    else:
        copy.seek(len(piece), os.SEEK_CUR)


def _check_space(folder: Path, size: int) -> None:
    """Raise OverBudget if the disk would have less than FREE_DISK_BYTES left."""
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if shutil.disk_usage(place).free < size + FREE_DISK_BYTES:
        raise OverBudget(f"the disk would have less than {FREE_DISK_BYTES // MB} MB left")


def _is_same(file: File, path: Path) -> bool:
    with file.open() as source, path.open("rb") as copy:
        while piece := source.read(MB):
            if piece != copy.read(len(piece)):
                return False
    return True


def _last_byte(file: File) -> bytes:
    with file.open() as opened:
        opened.seek(file.size - 1)
        return opened.read(1)
