"""Since when jobs are asked to stop: kept in files, by a clock that nobody can set."""

from __future__ import annotations

import time
from pathlib import Path

from workers.attempt import read_json, write_json


class Asked:
    """One small file a job, removed when it has ended. Raises OSError where the folder cannot be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def seconds(self, key: str) -> float:
        """How long ago the job was first asked, which is now where it was not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file, now = self.folder / f"{key}.json", time.monotonic()
        at = (read_json(file) or {}).get("at")
        # The clock starts anew with the machine.
        if not isinstance(at, float) or at > now:
            write_json(file, {"at": now})
            return 0.0
        return now - at

    def forget(self, key: str) -> None:
        """The job has ended."""
        (self.folder / f"{key}.json").unlink(missing_ok=True)
