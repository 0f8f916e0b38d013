"""Where attempts are in their lives, told by their files alone."""

from __future__ import annotations

import time
from pathlib import Path

from workers.attempt import claim_path
from workers.records import records_path

TAIL_BYTES = 4096
LATE_SECONDS = 1.0
"""An end is an end for so long; from then on nothing happens to the attempt any more."""


class Moments:
    """Remembers when each attempt was first seen at its end."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self._ended: dict[Path, float] = {}

    def now(self) -> dict[Path, str]:
        """Attempt's directory -> its moment, where it has one."""
        found = {directory: self._moment(directory) for directory in sorted(self.runs.glob("*/esweb-*"))}
        return {directory: moment for directory, moment in found.items() if moment}

    def _moment(self, directory: Path) -> str:
        if directory in self._ended or (directory / "exit.json").exists():
            return self._at_its_end(directory)
        if not claim_path(directory).exists():
            return "submitting"
        if any(directory.glob("checkpoints/.step-*")):
            return "saving"
        said = _tail(records_path(directory, 0))
        if b'"phase":"done"' in said or b'"phase":"failed"' in said:
            return self._at_its_end(directory)
        return "training" if b'"kind":"metric"' in said or b'"kind":"population"' in said else "loading"

    def _at_its_end(self, directory: Path) -> str:
        since = self._ended.setdefault(directory, time.monotonic())
        return "ending" if time.monotonic() - since < LATE_SECONDS else ""


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            return file.read()
    except FileNotFoundError:
        return b""
