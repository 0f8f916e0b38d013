"""Find the complete checkpoints of a run on this disk.

Files are the truth: a checkpoint counts as soon as it has its name, whether its record has been read or not. A record
may contain anything, so no path of a record is ever opened: a folder's path follows from its attempt and its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runs.models import Attempt, Checkpoint, Run, checkpoint_folder
from runs.models.experiment import config_section
from workers.attempt import REPLAY_LOG
from workers.checkpoint_folders import has_trainer_state
from workers.config.methods import method_of


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint on disk: the `n` of the attempt that saved it, its step, its folder, and its record if that was
    read.

    The trainer gives a folder its name when the checkpoint is complete; the recorded size shows whether files were
    deleted later. A checkpoint on a cluster's own disk has a record and no folder here.

    `is_deleted`: there is no such folder, and what reads the checkpoint rebuilds it from the run's replay log.
    """

    attempt: int
    step: int
    folder: Path
    record: Checkpoint | None
    is_remote: bool = False
    is_deleted: bool = False

    @property
    def is_whole(self) -> bool:
        """Return whether no files are missing."""
        return self.is_remote or self.record is None or size_of(self.folder) >= self.record.bytes


def newest(run: Run) -> SavedCheckpoint | None:
    """Return the checkpoint from which the run resumes: the last step of the newest attempt that saved one, or None.

    If none is on disk, it is the last one that was, if the run's replay log rebuilds it.
    """
    # By attempt before step: if an attempt resumed from an earlier step, later steps of earlier attempts are history.
    resumable = (saved for saved in _iter_saved(run) if saved.is_whole and _can_resume(run, saved))
    return next(resumable, None) or _last_deleted(run)


def readable(run: Run, step: int) -> SavedCheckpoint | None:
    """Return a checkpoint of the step that a trainer can read: on disk, or rebuilt by the trainer from the replay log
    of the run; None if there is none."""
    saved = at_step(run, step)
    if saved is not None or not is_replayed(run) or not 0 < step <= run.reached_step():
        return saved
    attempt = run.attempts.filter(started_at__isnull=False).select_related("cluster").order_by("-n").first()
    return None if attempt is None else _deleted(attempt, step)


def is_replayed(run: Run) -> bool:
    """Return whether a replay log rebuilds the run's checkpoints where its files are."""
    if not run.kind.runs_here or not method_of(run.method).is_replayed:
        return False
    attempts = list(run.attempts.select_related("cluster"))
    return any(_is_remote(attempt) or (attempt.directory / REPLAY_LOG).is_file() for attempt in attempts)


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


def _can_resume(run: Run, saved: SavedCheckpoint) -> bool:
    """Return whether a run resumes from the checkpoint: one of GRPO may hold weights alone."""
    return saved.is_remote or method_of(run.method).is_replayed or has_trainer_state(saved.folder)


def _last_deleted(run: Run) -> SavedCheckpoint | None:
    row = run.checkpoint_set.select_related("attempt__cluster").order_by("-attempt__n", "-step").first()
    return _deleted(row.attempt, row.step) if row is not None and is_replayed(run) else None


def _deleted(attempt: Attempt, step: int) -> SavedCheckpoint:
    folder = checkpoint_folder(attempt.directory, step)
    return SavedCheckpoint(attempt.n, step, folder, None, _is_remote(attempt), is_deleted=True)


def _is_remote(attempt: Attempt) -> bool:
    return attempt.cluster is not None and attempt.cluster.is_remote


def _iter_saved(run: Run) -> Iterator[SavedCheckpoint]:
    """Yield all checkpoints, the newest attempt's first, and of each attempt the last step first."""
    rows = list(run.checkpoint_set.order_by("attempt__n", "epoch", "seq"))
    records = {(row.attempt_id, row.step): row for row in rows}
    # No file tells here what a trainer has deleted elsewhere: all but the newest.
    elsewhere = rows[-1:] if config_section(run.config, "es").get("keep") == "last" else rows
    for attempt in run.attempts.select_related("cluster").order_by("-n"):
        is_remote = _is_remote(attempt)
        steps = {row.step for row in elsewhere if row.attempt_id == attempt.pk} if is_remote else _steps(attempt)
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
