"""The clock of all processes of one esweb, moved as if the machine's date was set. Needs a C compiler."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
COMPILER = shutil.which("cc")


class Clock:
    """Seconds that a process tree started with `env` adds to the time of day; they can change at any time."""

    def __init__(self, folder: Path) -> None:
        self.library, self.file, self.offset_seconds = folder / "clock.so", folder / "clock", 0
        self._write()
        subprocess.run([str(COMPILER), "-O2", "-shared", "-fPIC", SOURCE, "-o", self.library, "-ldl"], check=True)

    @property
    def env(self) -> dict[str, str]:
        """Return the variables that a process must be started with."""
        return {"LD_PRELOAD": str(self.library), "CHAOS_CLOCK": str(self.file)}

    def move(self, seconds: int) -> None:
        """Set the clock forward, or back if `seconds` is negative."""
        self.offset_seconds += seconds
        self._write()

    def _write(self) -> None:
        # In place, since the processes have the file mapped; eight bytes in one page are written together.
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("d", self.offset_seconds))
