"""What a training's processes use of their machine: /proc, read from time to time. Nothing where there is no /proc."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
GB = 1e9


@dataclass(frozen=True)
class Stat:
    """One process: CPU seconds spent since its start, and resident bytes. `identity` is of this process for good."""

    pid: int
    parent: int
    identity: tuple[int, int]
    cpu_seconds: float
    resident_bytes: int


class Processes:
    """A process and all its descendants, looked at again and again."""

    def __init__(self, root: int) -> None:
        self.root = root
        self._looked_at = time.monotonic()
        self._spent = {stat.identity: stat.cpu_seconds for stat in tree(root)}

    def look(self) -> dict[str, float]:
        """CPU cores in use since the last look, resident and free memory in GB. Empty where there is no /proc.

        What a process spent between the last look and its end is not seen. Pages that processes share count in each.
        """
        found, now = tree(self.root), time.monotonic()
        if not found:
            return {}
        spent = sum(stat.cpu_seconds - self._spent.get(stat.identity, 0.0) for stat in found)
        values = {
            "system/cpu_cores": spent / max(now - self._looked_at, 1e-3),
            "system/memory_gb": sum(stat.resident_bytes for stat in found) / GB,
            **_free_memory(),
        }
        self._looked_at, self._spent = now, {stat.identity: stat.cpu_seconds for stat in found}
        return values


def tree(root: int) -> list[Stat]:
    """The process and its descendants, as they are now; empty where it is gone."""
    everybody = {stat.pid: stat for stat in _stats()}
    children: dict[int, list[Stat]] = defaultdict(list)
    for stat in everybody.values():
        children[stat.parent].append(stat)
    found = [everybody[root]] if root in everybody else []
    for stat in found:
        # The list grows while it is walked: a process's children are looked for after itself.
        found += children[stat.pid]
    return found


def _stats() -> Iterator[Stat]:
    for folder in PROC.glob("[0-9]*"):
        # A process may end between the look at the folder and that into it.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield _stat(int(folder.name), (folder / "stat").read_text())


def _stat(pid: int, line: str) -> Stat:
    """proc(5), /proc/pid/stat. The name, in parentheses, may hold spaces and parentheses itself."""
    fields = line.rpartition(")")[2].split()
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    seconds = (int(fields[11]) + int(fields[12])) / ticks
    return Stat(pid, int(fields[1]), (pid, int(fields[19])), seconds, int(fields[21]) * page)


def _free_memory() -> dict[str, float]:
    """What could still be had without swapping, on the whole machine."""
    lines = (PROC / "meminfo").read_text().splitlines()
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return {"system/free_memory_gb": kilobytes[0] * 1024 / GB} if kilobytes else {}
