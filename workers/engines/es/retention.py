"""Deletes the older checkpoints of an ES run that its replay log rebuilds (es.keep last).

A checkpoint is deleted only if the log leads from the base model to exactly its weights, a newer checkpoint is in
place, and no process reads it. What cannot be rebuilt stays: the log of a run that resumed by hand in another folder
has a gap, noise of an earlier version cannot be drawn again, and a trajectory that a resume abandoned has no number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from workers.attempt import RUN_CONFIG
from workers.checkpoint_folders import ATTEMPT, ES_STATE, STEP, delete_unread
from workers.config import EsConfig
from workers.engines.es.noise import VERSION
from workers.engines.es.replay_history import CannotReplay, attempts_of, history_of
from workers.engines.es.state import State


class Retention:
    """Knows which weights the replay log of a training leads to, from its start on. `directory` is its attempt's."""

    def __init__(self, directory: Path, es: EsConfig, start: State) -> None:
        self._directory, self._is_on = directory.resolve(), es.keep == "last"
        self._lineages = {start.lineage} | self._earlier_lineages(start) if self._is_on else set()
        self._is_whole = start.origin.lineage() in self._lineages

    @property
    def can_rebuild(self) -> bool:
        """Return whether only the newest checkpoint is kept, because the log leads from the base model to all."""
        return self._is_on and self._is_whole

    def add(self, state: State) -> None:
        """Note that the log now leads to this state."""
        self._lineages.add(state.lineage)

    def delete_older(self, newest: Path) -> None:
        """Delete all checkpoints of this and earlier attempts but the newest, as far as that is safe. Raise OSError."""
        if not self.can_rebuild:
            return
        for checkpoint in self._checkpoints():
            if checkpoint != newest.resolve() and _lineage(checkpoint) in self._lineages:
                delete_unread(checkpoint)

    def _earlier_lineages(self, start: State) -> set[str]:
        """Return the lineages on the way to a start that is not the base model's; none if the log has a gap."""
        origin = start.origin.lineage()
        if start.lineage == origin:
            return set()
        try:
            trail = history_of(self._attempts()).trail(start.step)
        except CannotReplay:
            return set()
        is_usable = trail.is_whole and trail.end == start.lineage
        if not is_usable or any(line.start.noise.version != VERSION for line in trail.written):
            return set()
        return {origin} | {line.update.lineage for line in trail.written}

    def _attempts(self) -> list[Path]:
        is_numbered = ATTEMPT.fullmatch(self._directory.name)
        return attempts_of(self._directory.parent) if is_numbered else [self._directory]

    def _checkpoints(self) -> Iterator[Path]:
        """Yield the checkpoints of this attempt, and of those before it whose config says that older ones go."""
        for attempt in self._attempts():
            if attempt == self._directory or _keeps_last(attempt / RUN_CONFIG):
                folders = attempt.glob("checkpoints/step-*")
                yield from sorted(
                    folder for folder in folders if STEP.fullmatch(folder.name) and not folder.is_symlink()
                )


def _keeps_last(config: Path) -> bool:
    """Return whether a config names es.keep last: one of an earlier version does not, and its checkpoints stay."""
    try:
        return bool(json.loads(config.read_bytes())["es"]["keep"] == "last")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _lineage(checkpoint: Path) -> str | None:
    """Return the lineage that a checkpoint names, without reading its weights; None if it names none."""
    try:
        return str(json.loads((checkpoint / ES_STATE).read_bytes())["lineage"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
