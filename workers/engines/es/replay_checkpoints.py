"""The saved checkpoints on the way to a step, from which a replay is shorter; and the run's records about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from workers.checkpoint_folders import hold, lacks_master
from workers.engines.context import step_of
from workers.engines.es.replay_history import Trail
from workers.engines.es.state import State
from workers.engines.not_resumable import NotResumable
from workers.models.save import weights_sha256
from workers.records import BadLine, Checkpoint, unpack

MARK = b'"kind":"checkpoint"'


def nearest(attempts: Sequence[Path], trail: Trail) -> tuple[Path, int] | None:
    """Return the latest whole checkpoint on the trail, and how many of the trail's updates it holds; None if there is
    none.

    It counts if its lineage is on the trail, its weights have the sha256 that the run recorded, and it holds them in
    float32. It is held until this process ends.
    """
    update_counts = {trail.begin: 0} | {w.update.lineage: n for n, w in enumerate(trail.written, start=1)}
    last = trail.written[-1].update.step if trail.written else 0
    recorded = recorded_weights(attempts)
    named = (f for attempt in attempts for f in attempt.glob("checkpoints/step-*") if f.name[5:].isdigit())
    folders = [folder for folder in named if step_of(folder) <= last]
    for folder in sorted(folders, key=step_of, reverse=True):
        hold(folder)
        lineage = _lineage(folder)
        if lineage not in update_counts or lacks_master(folder):
            continue
        if weights_sha256(folder) == recorded.get(folder):
            return folder, update_counts[lineage]
    return None


def recorded_weights(attempts: Sequence[Path]) -> dict[Path, str]:
    """Return checkpoint folder -> sha256 of its weights, from the attempts' records; also of folders that no longer
    exist."""
    return {
        attempt / checkpoint.path: checkpoint.sha256
        for attempt in attempts
        for file in sorted(attempt.glob("records.*.jsonl"), key=_epoch)
        for checkpoint in _checkpoints(file)
    }


def _checkpoints(file: Path) -> Iterator[Checkpoint]:
    with file.open("rb") as lines:
        for line in lines:
            # Most lines are long answers: only what may be a checkpoint is parsed.
            if MARK in line:
                try:
                    record = unpack(line).record
                except BadLine:
                    continue
                if isinstance(record, Checkpoint):
                    yield record


def _epoch(file: Path) -> int:
    number = file.name.split(".")[1]
    return int(number) if number.isdigit() else -1


def _lineage(folder: Path) -> str | None:
    try:
        return State.load(folder).lineage
    except NotResumable:
        return None
