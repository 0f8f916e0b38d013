"""Temporary faults of a part, a server or a disk of a site."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from esweb.embedded import redis_url
from tests.chaos.plan import DATABASE_DISK, RUNS_DISK, VALKEY_MEMORY
from tests.chaos.processes import SiteProcess
from tests.chaos.supervisor import Supervisor
from tests.small_disks import SmallDisk
from tests.waiting import wait_until


@contextmanager
def freeze_processes(processes: Sequence[SiteProcess]) -> Iterator[None]:
    """Stop these processes, and at the end continue those that still run."""
    for site_process in processes:
        site_process.process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        for site_process in reversed(processes):
            site_process.process.send(signal.SIGCONT)


@contextmanager
def fill_resource(
    supervisor: Supervisor, resource: str, disks: Mapping[str, SmallDisk], tend: Callable[[], None]
) -> Iterator[None]:
    """Fill that disk, or the memory of Valkey, until the end of the block.

    `tend` is called while Valkey is awaited; it repeats a start that the fault before has interrupted.
    """
    if resource == VALKEY_MEMORY:
        _limit_memory(supervisor.data, 1, tend)
    else:
        disks[resource].fill()
    try:
        yield
    finally:
        if resource == VALKEY_MEMORY:
            _limit_memory(supervisor.data, 0, tend)
        else:
            disks[resource].make_room()


def _limit_memory(data: Path, size_bytes: int, tend: Callable[[], None]) -> None:
    """Set the memory limit of Valkey; 0 is none. Wait for a Valkey that is being restarted."""

    def is_set() -> bool:
        tend()
        with suppress(redis.RedisError), redis.from_url(redis_url(data)) as client:
            return bool(client.config_set("maxmemory", size_bytes))
        return False

    wait_until(is_set, "Valkey to take a limit of its memory")


def disk_folders(data: Path) -> dict[str, Path]:
    """Return the folders that are on disks of their own if disks are filled."""
    return {RUNS_DISK: data / "runs", DATABASE_DISK: data / "postgres"}
