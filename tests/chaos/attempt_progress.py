"""Phases of attempts, read from their files alone."""

from __future__ import annotations

import time
from pathlib import Path

from workers.attempt import claim_path
from workers.records import records_path

TAIL_BYTES = 4096
LATE_SECONDS = 1.0
"""Duration of the phase "ending"; after it nothing happens to the attempt any more."""


class Phases:
    """The current phase of each attempt. Stores when an attempt was first seen finished."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self._finished_at: dict[Path, float] = {}

    def current(self) -> dict[Path, str]:
        """Return attempt's directory -> its phase, without attempts that are in no phase."""
        phases = {directory: self._phase(directory) for directory in sorted(self.runs.glob("*/esweb-*"))}
        return {directory: phase for directory, phase in phases.items() if phase}

    def _phase(self, directory: Path) -> str:
        if directory in self._finished_at or (directory / "exit.json").exists():
            return self._final_phase(directory)
        if not claim_path(directory).exists():
            return "submitting"
        if any(directory.glob("checkpoints/.step-*")):
            return "saving"
        tail = _tail(records_path(directory, 0))
        if b'"phase":"done"' in tail or b'"phase":"failed"' in tail:
            return self._final_phase(directory)
        return "training" if b'"kind":"metric"' in tail or b'"kind":"population"' in tail else "loading"

    def _final_phase(self, directory: Path) -> str:
        since = self._finished_at.setdefault(directory, time.monotonic())
        return "ending" if time.monotonic() - since < LATE_SECONDS else ""


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            return file.read()
    except FileNotFoundError:
        return b""
