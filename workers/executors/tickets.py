"""The local queue, in files: one ticket per job, under `open/` until it has ended and under `ended/` from then on.

A process that changes a ticket holds the lock. Every change is one rename, or on a full disk one write in place, so a
process killed anywhere leaves a queue that the next one can read.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from workers.attempt import Process, is_disk_full, read_json, write_json, write_json_anyhow, write_reserved
from workers.executors.states import State


@dataclass(frozen=True)
class Ticket:
    """One job: its position in the queue, what it takes, and, once those are known, its agent and its end."""

    key: str
    number: int
    directory: str
    cores: int
    gpus: float
    """GPUs: a whole number, or the fraction of one that the job shares with others."""
    gpu_memory_mb: int = 0
    """Memory of each of its GPUs that it plans to take; 0 if that is not known."""
    runs_concurrently: bool = False
    """Whether it shares its GPU through CUDA's Multi-Process Service."""
    devices: tuple[str, ...] = ()
    tries: int = 0
    owner: Process | None = None
    asked_at: float | None = None
    """Time at which its agent was asked to stop, on the clock that counts since the machine's start."""
    interrupted: bool = False
    """The agent was asked to stop because esweb stops, not because a user cancelled the job."""
    state: str = ""
    native: str = ""
    reason: str = ""

    @property
    def path(self) -> Path:
        """Return the attempt's directory."""
        return Path(self.directory)

    @property
    def shares_gpu(self) -> bool:
        """Return whether the job has a fraction of a GPU."""
        return 0 < self.gpus < 1

    @property
    def device_count(self) -> int:
        """Return the number of GPUs that the job sees."""
        return 1 if self.shares_gpu else int(self.gpus)


class Tickets:
    """The directory that holds the queue."""

    def __init__(self, root: Path) -> None:
        self.open_jobs, self.ended_jobs, self.lock_file = root / "open", root / "ended", root / "lock"
        for directory in (self.open_jobs, self.ended_jobs):
            directory.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock, exclusively among threads and processes; the kernel frees it when its holder dies."""
        handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def get(self, key: str) -> Ticket | None:
        """Return the job of that key, open or ended. Needs no lock: a ticket is filed as ended before it leaves
        `open/`."""
        still_open = _read(self.open_jobs / f"{key}.json")
        return _read(self.ended_jobs / f"{key}.json") or still_open

    def open(self) -> list[Ticket]:
        """Return all jobs that have not ended, oldest first. Call under the lock."""
        tickets = [ticket for path in self.open_jobs.glob("*.json") if (ticket := _read(path))]
        return sorted((t for t in tickets if not self._finish_filing(t)), key=lambda t: t.number)

    def put(self, ticket: Ticket) -> Ticket:
        """Write an open ticket. Call under the lock."""
        write_json_anyhow(self.open_jobs / f"{ticket.key}.json", asdict(ticket), sync=True)
        return ticket

    def end(self, ticket: Ticket, state: State, native: str, reason: str = "") -> None:
        """File a ticket as ended. Call under the lock."""
        ended = replace(ticket, state=state.value, native=native, reason=reason)
        still_open, filed = (folder / f"{ticket.key}.json" for folder in (self.open_jobs, self.ended_jobs))
        try:
            write_json(filed, asdict(ended), sync=True)
        except OSError as error:
            if not is_disk_full(error):
                raise
            write_reserved(still_open, filed, asdict(ended))
        still_open.unlink(missing_ok=True)

    def _finish_filing(self, ticket: Ticket) -> bool:
        """Return whether a process died between the two steps of `end`; if so, do the second step."""
        if not (self.ended_jobs / f"{ticket.key}.json").exists():
            return False
        (self.open_jobs / f"{ticket.key}.json").unlink(missing_ok=True)
        return True


def _read(path: Path) -> Ticket | None:
    data: dict[str, Any] | None = read_json(path)
    if data is None:
        return None
    data["owner"], data["devices"] = Process.recorded(data["owner"]), tuple(data["devices"])
    return Ticket(**data)
