"""Find the complete checkpoints of a run on this disk.

Files are the truth: a checkpoint counts as soon as it has its name, whether its record has been read or not. A record
may contain anything, so no path of a record is ever opened: a folder's path follows from its attempt and its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runs.models import Attempt, Checkpoint, Run, checkpoint_folder


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint on disk: the `n` of the attempt that saved it, its step, its folder, and its record if that was
    read.

    The trainer gives a folder its name when the checkpoint is complete; the recorded size shows whether files were
    deleted later. A checkpoint on a cluster's own disk has a record and no folder here.
    """

    attempt: int
    step: int
    folder: Path
    record: Checkpoint | None
    is_remote: bool = False

    @property
    def is_whole(self) -> bool:
        """Return whether no files are missing."""
        return self.is_remote or self.record is None or size_of(self.folder) >= self.record.bytes


def newest(run: Run) -> SavedCheckpoint | None:
    """Return the checkpoint from which the run resumes: the last step of the newest attempt that saved one, or None."""
    # By attempt before step: if an attempt resumed from an earlier step, later steps of earlier attempts are history.
    return next((saved for saved in _iter_saved(run) if saved.is_whole), None)


def by_step(run: Run) -> dict[int, SavedCheckpoint]:
    """Return step -> its newest complete checkpoint, here or on its cluster's own disk, the last step first."""
    checkpoints: dict[int, SavedCheckpoint] = {}
    for saved in _iter_saved(run):
        if saved.step not in checkpoints and saved.is_whole:
            checkpoints[saved.step] = saved
    return dict(sorted(checkpoints.items(), reverse=True))


def at_step(run: Run, step: int) -> SavedCheckpoint | None:
    """Return the newest complete checkpoint of one step, here or on its cluster's own disk, or None."""
    return next((saved for saved in _iter_saved(run) if saved.step == step and saved.is_whole), None)


def size_of(folder: Path) -> int:
    """Return the bytes of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _iter_saved(run: Run) -> Iterator[SavedCheckpoint]:
    """Yield all checkpoints, the newest attempt's first, and of each attempt the last step first."""
    rows = run.checkpoint_set.order_by("epoch", "seq")
    records = {(row.attempt_id, row.step): row for row in rows}
    for attempt in run.attempts.select_related("cluster").order_by("-n"):
        is_remote = attempt.cluster is not None and attempt.cluster.is_remote
        steps = [step for pk, step in records if pk == attempt.pk] if is_remote else _steps(attempt)
        for step in sorted(steps, reverse=True):
            folder = checkpoint_folder(attempt.directory, step)
            yield SavedCheckpoint(attempt.n, step, folder, records.get((attempt.pk, step)), is_remote)


def _steps(attempt: Attempt) -> Iterator[int]:
    for folder in (attempt.directory / "checkpoints").glob("step-*"):
        number = folder.name.removeprefix("step-")
        if number.isdecimal() and folder == checkpoint_folder(attempt.directory, int(number)) and _is_folder(folder):
            yield int(number)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
