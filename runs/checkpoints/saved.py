"""Which checkpoints of a run are on this disk, whole.

Files are the truth: a checkpoint counts as soon as it has its name, whether its record has been read or not. A record
may say anything, so that no path of it is ever opened: a folder's place follows from its attempt and its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runs.models import Attempt, Checkpoint, Run, checkpoint_folder


@dataclass(frozen=True)
class Saved:
    """A checkpoint on disk: the `n` of the attempt that saved it, its step, its folder, its record where that is read.

    The trainer gives a folder its name when it is whole; its recorded size tells of what was deleted later. Of one that
    is on a cluster's own disk, there is the record and no folder here.
    """

    attempt: int
    step: int
    folder: Path
    record: Checkpoint | None
    is_far: bool = False

    @property
    def is_whole(self) -> bool:
        """False where files are missing."""
        return self.is_far or self.record is None or size_of(self.folder) >= self.record.bytes


def newest(run: Run) -> Saved | None:
    """What the run goes on from: the furthest checkpoint of the last attempt that has left one."""
    # By attempt before step: where an attempt went back and took another path, what earlier ones saved is history.
    return next((saved for saved in _saved(run) if saved.is_whole), None)


def by_step(run: Run) -> dict[int, Saved]:
    """step -> its newest whole checkpoint, here or on its cluster's own disk, the last step first."""
    found: dict[int, Saved] = {}
    for saved in _saved(run):
        if saved.step not in found and saved.is_whole:
            found[saved.step] = saved
    return dict(sorted(found.items(), reverse=True))


def at_step(run: Run, step: int) -> Saved | None:
    """The newest whole checkpoint of one step, here or on its cluster's own disk."""
    return next((saved for saved in _saved(run) if saved.step == step and saved.is_whole), None)


def size_of(folder: Path) -> int:
    """Bytes of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _saved(run: Run) -> Iterator[Saved]:
    """All of them, the newest attempt's first, of each the last step first."""
    rows = run.checkpoint_set.order_by("epoch", "seq")
    records = {(row.attempt_id, row.step): row for row in rows}
    for attempt in run.attempts.select_related("cluster").order_by("-n"):
        is_far = attempt.cluster is not None and attempt.cluster.is_far
        steps = [step for pk, step in records if pk == attempt.pk] if is_far else _steps(attempt)
        for step in sorted(steps, reverse=True):
            folder = checkpoint_folder(attempt.directory, step)
            yield Saved(attempt.n, step, folder, records.get((attempt.pk, step)), is_far)


def _steps(attempt: Attempt) -> Iterator[int]:
    for folder in (attempt.directory / "checkpoints").glob("step-*"):
        number = folder.name.removeprefix("step-")
        if number.isdecimal() and folder == checkpoint_folder(attempt.directory, int(number)) and _is_folder(folder):
            yield int(number)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
