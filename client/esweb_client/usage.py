"""Resources that this process and its descendants use, as metrics below `system/`; what cannot be read is left out."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from esweb_client.gpus import Gpus, find_gpus

PROC = Path("/proc")
GB = 1e9


class ProcessStat(NamedTuple):
    """Usage of one process since its start. `identity` is never reused."""

    pid: int
    parent: int
    identity: tuple[int, int]
    cpu_seconds: float
    resident_bytes: int


class Usage:
    """Usage of this process, its descendants, and its GPUs once it uses any."""

    def __init__(self) -> None:
        self.gpus: Gpus | None = None
        self._read_at = time.monotonic()
        self._cpu_seconds = {stat.identity: stat.cpu_seconds for stat in process_tree(os.getpid())}

    def read(self) -> dict[str, float]:
        """Return the cores in use since the last call, the memory in GB, and the GPUs' usage. Raise OSError."""
        if self.gpus is None and _uses_cuda():
            self.gpus = find_gpus()
        return {**self._read_processes(), **(self.gpus.read_usage() if self.gpus else {})}

    def _read_processes(self) -> dict[str, float]:
        stats, now = process_tree(os.getpid()), time.monotonic()
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


def process_tree(root: int) -> list[ProcessStat]:
    """Return the process and its descendants, as they are now; empty without /proc."""
    by_pid = {stat.pid: stat for stat in _stats()}
    children: dict[int, list[ProcessStat]] = defaultdict(list)
    for stat in by_pid.values():
        children[stat.parent].append(stat)
    stats = [by_pid[root]] if root in by_pid else []
    for stat in stats:
        # The list grows while it is walked: a process's children come after it.
        stats += children[stat.pid]
    return stats


def _stats() -> Iterator[ProcessStat]:
    for folder in PROC.glob("[0-9]*"):
        # A process may end between the look at the folder and that into it.
        with contextlib.suppress(OSError, ValueError, IndexError):
            yield _parse(int(folder.name), (folder / "stat").read_text(errors="replace"))


def _parse(pid: int, line: str) -> ProcessStat:
    """Parse a line of proc(5), /proc/pid/stat. The name, in parentheses, may hold spaces and parentheses itself."""
    fields = line.rpartition(")")[2].split()
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    seconds = (int(fields[11]) + int(fields[12])) / ticks
    return ProcessStat(pid, int(fields[1]), (pid, int(fields[19])), seconds, int(fields[21]) * page)


def _free_memory() -> dict[str, float]:
    lines = (PROC / "meminfo").read_text().splitlines()
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return {"system/free_memory_gb": kilobytes[0] * 1024 / GB} if kilobytes else {}


def _uses_cuda() -> bool:
    """Return whether torch, if it is loaded at all, has taken a GPU: GPUs that others use are not this run's."""
    # Another thread may be importing torch now: then it has no such part yet.
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    is_initialized = getattr(cuda, "is_initialized", None)
    return is_initialized is not None and bool(is_initialized())
