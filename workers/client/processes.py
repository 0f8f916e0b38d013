"""Resource usage of a training's processes, read from /proc at intervals; nothing without /proc."""

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
    """One process: CPU seconds spent since its start, and resident bytes. `identity` is never reused."""

    pid: int
    parent: int
    identity: tuple[int, int]
    cpu_seconds: float
    resident_bytes: int


class Processes:
    """A process and all its descendants, whose usage can be read repeatedly."""

    def __init__(self, root: int) -> None:
        self.root = root
        self._read_at = time.monotonic()
        self._cpu_seconds = {stat.identity: stat.cpu_seconds for stat in tree(root)}

    def read_usage(self) -> dict[str, float]:
        """Return CPU cores in use since the last call, resident and free memory in GB. Empty if there is no /proc.

        The time that a process spent between the last call and its end is not counted. Pages that processes share count
        in each.
        """
        stats, now = tree(self.root), time.monotonic()
        if not stats:
            return {}
        spent = sum(stat.cpu_seconds - self._cpu_seconds.get(stat.identity, 0.0) for stat in stats)
        values = {
            "system/cpu_cores": spent / max(now - self._read_at, 1e-3),
            "system/memory_gb": sum(stat.resident_bytes for stat in stats) / GB,
            **_free_memory(),
        }
        self._read_at, self._cpu_seconds = now, {stat.identity: stat.cpu_seconds for stat in stats}
        return values


def tree(root: int) -> list[Stat]:
    """Return the process and its descendants, as they are now; empty if it is gone."""
    by_pid = {stat.pid: stat for stat in _stats()}
    children: dict[int, list[Stat]] = defaultdict(list)
    for stat in by_pid.values():
        children[stat.parent].append(stat)
    stats = [by_pid[root]] if root in by_pid else []
    for stat in stats:
        # The list grows while it is walked: a process's children are looked for after itself.
        stats += children[stat.pid]
    return stats


def _stats() -> Iterator[Stat]:
    for folder in PROC.glob("[0-9]*"):
        # A process may end between the look at the folder and that into it.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield _stat(int(folder.name), (folder / "stat").read_text())


def _stat(pid: int, line: str) -> Stat:
    """Parse a line of proc(5), /proc/pid/stat. The name, in parentheses, may hold spaces and parentheses itself."""
    fields = line.rpartition(")")[2].split()
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    seconds = (int(fields[11]) + int(fields[12])) / ticks
    return Stat(pid, int(fields[1]), (pid, int(fields[19])), seconds, int(fields[21]) * page)


def _free_memory() -> dict[str, float]:
    """Return the memory that is available without swapping, on the whole machine."""
    lines = (PROC / "meminfo").read_text().splitlines()
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return {"system/free_memory_gb": kilobytes[0] * 1024 / GB} if kilobytes else {}
