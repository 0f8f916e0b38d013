"""Lines on the terminal of `up` about disks that are low or full."""

from __future__ import annotations

import time
from collections.abc import Callable

from esweb.bootstrap.disk_room import Disk, DiskWatch, watch

FULL_SECONDS = 60.0
LOW_SECONDS = 3600.0
"""The time after which a line about a disk that is still full, or still low, is printed again."""


class DiskReport:
    """Prints a line when a disk gets low or full, again from time to time, and when it has room. Call it often."""

    def __init__(
        self,
        print_line: Callable[[str], None],
        disks: DiskWatch = watch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._print_line, self._disks, self._clock = print_line, disks, clock
        self._printed_at: dict[tuple[str, bool], float] = {}
        """(Contents of a disk, whether it was full) -> when that was last printed."""
        self._scarce_at: dict[str, float] = {}
        """Contents of a disk -> when it was last low or full."""

    def __call__(self) -> None:
        now = self._clock()
        for disk in self._disks.scarce():
            self._scarce_at[disk.contents] = now
            state, pause = (disk.contents, disk.is_full), FULL_SECONDS if disk.is_full else LOW_SECONDS
            if now - self._printed_at.get(state, float("-inf")) >= pause:
                self._print_line(_line(disk))
                self._printed_at[state] = now
        # After a while, so that a disk at the limit does not fill the terminal.
        for contents in [contents for contents, at in self._scarce_at.items() if now - at >= FULL_SECONDS]:
            del self._scarce_at[contents]
            self._printed_at = {state: at for state, at in self._printed_at.items() if state[0] != contents}
            self._print_line(f"the disk of {contents} has room again")


def _line(disk: Disk) -> str:
    if disk.is_full:
        consequence = "What cannot be written waits or is refused; recorded data stays. Free some space"
        return f"the disk of {disk.contents} is full ({disk.room}). {consequence}: {disk.paths}"
    return f"the disk of {disk.contents} has little room ({disk.room}). Free some space: {disk.paths}"
