"""Files that store since when jobs have been asked to stop, by the monotonic clock, which nobody can set."""

from __future__ import annotations

import time
from pathlib import Path

from workers.attempt import read_json, write_json


class CancelRequests:
    """Cancel requests in a folder, one small file per job, removed when the job has ended. Methods raise OSError if the
    folder cannot be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def seconds_since_first(self, key: str) -> float:
        """Return the seconds since the job was first asked to stop. Create the request and return 0 if there is
        none."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file, now = self.folder / f"{key}.json", time.monotonic()
        at = (read_json(file) or {}).get("at")
        # The monotonic clock starts again with the machine.
        if not isinstance(at, float) or at > now:
            write_json(file, {"at": now})
            return 0.0
        return now - at

    def remove(self, key: str) -> None:
        """Remove the request of a job that has ended."""
        (self.folder / f"{key}.json").unlink(missing_ok=True)
