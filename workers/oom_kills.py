"""Read how many processes the kernel has killed for lack of memory in this process' control group. Stdlib only.

Linux counts them in `memory.events` (cgroup v2) and `memory.oom_control` (cgroup v1). A process without a memory
controller of its own is charged to the nearest group above that has one, so the count is read there.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path, PurePosixPath

MEMBERSHIP = Path("/proc/self/cgroup")
MOUNT = Path("/sys/fs/cgroup")
KEY = "oom_kill"
WINDOW_SECONDS = 60.0
"""A process of many gigabytes takes seconds to die of the kill, so a reading from just before its end may be late."""


def read_oom_kills(membership: Path = MEMBERSHIP, mount: Path = MOUNT) -> int | None:
    """Return the kernel's count for this process' control group; None if there is none that can be read."""
    try:
        groups = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return None
    for _, controllers, path in groups:
        if "memory" in controllers.split(","):
            return _read_nearest(mount / "memory", PurePosixPath(path), "memory.oom_control")
    unified = next((path for _, controllers, path in groups if not controllers), None)
    return None if unified is None else _read_nearest(mount, PurePosixPath(unified), "memory.events")


class RecentOomKills:
    """The kills of about the last minute. Durations are of the monotonic clock."""

    def __init__(self) -> None:
        self._readings = deque([(time.monotonic(), read_oom_kills())])

    def read(self) -> None:
        """Read the counter. Only the newest of the readings that are older than the window is retained."""
        now = time.monotonic()
        self._readings.append((now, read_oom_kills()))
        while self._readings[1][0] <= now - WINDOW_SECONDS:
            self._readings.popleft()

    def count(self) -> int | None:
        """Return the kills since the oldest reading; None if the counter could not be read."""
        self.read()
        first, last = self._readings[0][1], self._readings[-1][1]
        return None if first is None or last is None else max(0, last - first)


def _read_nearest(mount: Path, path: PurePosixPath, name: str) -> int | None:
    folder = mount / path.relative_to("/")
    for candidate in (folder, *folder.parents):
        if not candidate.is_relative_to(mount):
            break
        if (count := _read_key(candidate / name)) is not None:
            return count
    return None


def _read_key(file: Path) -> int | None:
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return None
    return next((int(value) for key, value in (line for line in lines if len(line) == 2) if key == KEY), None)
