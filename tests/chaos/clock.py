"""The clock of everything that one esweb runs, moved as if somebody set the machine's date. Needs a C compiler."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
COMPILER = shutil.which("cc")


class Clock:
    """Seconds that a process tree started with `env` adds to the time of day, from one moment to the next."""

    def __init__(self, folder: Path) -> None:
        self.library, self.file, self.moved = folder / "clock.so", folder / "clock", 0
        self._write()
        subprocess.run([str(COMPILER), "-O2", "-shared", "-fPIC", SOURCE, "-o", self.library, "-ldl"], check=True)

    @property
    def env(self) -> dict[str, str]:
        """What a process must be started with."""
        return {"LD_PRELOAD": str(self.library), "CHAOS_CLOCK": str(self.file)}

    def move(self, seconds: int) -> None:
        """Sets it forward, or back."""
        self.moved += seconds
        self._write()

    def _write(self) -> None:
        # In place, since the processes have the file mapped; eight bytes in one page are there at once.
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("d", self.moved))
