"""The weights of a run on this site's disk: what they take, and whether the run's replay log rebuilds them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy

from runs import checkpoints
from runs.models import Attempt, Run
from workers.checkpoint_folders import CHECKPOINTS, REBUILT, STEP, TRAINER, is_logged, logged_weights


class Part(TextChoices):
    """Parts of a run's files that can be deleted."""

    REBUILDABLE = "rebuildable", gettext_lazy("Checkpoints that the replay log rebuilds")
    STATES = "states", gettext_lazy("What a GRPO run needs to resume: optimizer, random streams, float32 weights")
    WEIGHTS = "weights", gettext_lazy("Checkpoints that nothing rebuilds")


IRREPLACEABLE = frozenset({Part.STATES, Part.WEIGHTS})


@dataclass(frozen=True)
class StoredWeights:
    """A checkpoint's folder, or only the trainer's state in it, which is not counted twice then. `attempt` is None for
    a copy that was rebuilt."""

    part: Part
    step: int
    folder: Path
    bytes: int
    attempt: int | None = None


def stored_weights(run: Run) -> list[StoredWeights]:
    """Return the weights of a run on this disk, those of its attempts first, in the order of their steps."""
    attempts = [attempt for attempt in run.attempts.select_related("cluster").order_by("n") if not _is_remote(attempt)]
    logged = logged_weights([a.directory for a in attempts]) if checkpoints.is_replayed(run) else {}
    stored = [weights for attempt in attempts for weights in _of_attempt(attempt, logged)]
    rebuilt = [*_steps(run.root / REBUILT), *(folder for row in _ended_rebuilds(run) for folder in _steps(row))]
    return stored + [StoredWeights(Part.REBUILDABLE, _step(f), f, checkpoints.size_of(f)) for f in rebuilt]


def bytes_of(run: Run) -> int:
    """Return the bytes of all files of a run on this disk. A file that is deleted meanwhile counts nothing."""
    total = 0
    for folder, _, names in os.walk(run.root):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name), follow_symlinks=False).st_size  # noqa: PTH116, PTH118
            except FileNotFoundError:
                continue
    return total


def _of_attempt(attempt: Attempt, logged: dict[int, str]) -> Iterator[StoredWeights]:
    for folder in _steps(attempt.directory / CHECKPOINTS):
        size = checkpoints.size_of(folder)
        if is_logged(folder, logged):
            yield StoredWeights(Part.REBUILDABLE, _step(folder), folder, size, attempt.n)
            continue
        state = checkpoints.size_of(folder / TRAINER)
        yield StoredWeights(Part.WEIGHTS, _step(folder), folder, size - state, attempt.n)
        if state:
            yield StoredWeights(Part.STATES, _step(folder), folder / TRAINER, state, attempt.n)


def _ended_rebuilds(run: Run) -> list[Path]:
    return [rebuild.directory for rebuild in run.rebuilds.select_related("run") if not rebuild.is_open]


def _steps(folder: Path) -> list[Path]:
    """Return the folders of checkpoints in a folder, the first step first."""
    named = (path for path in folder.glob("step-*") if STEP.fullmatch(path.name))
    return sorted((path for path in named if path.is_dir() and not path.is_symlink()), key=_step)


def _step(folder: Path) -> int:
    return int(folder.name.partition("-")[2])


def _is_remote(attempt: Attempt) -> bool:
    return attempt.cluster is not None and attempt.cluster.is_remote
