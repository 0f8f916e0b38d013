"""Ways in which a part, a server or a disk of a house fails for a while."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from esweb.embedded import redis_url
from tests.chaos.plan import DATABASE_DISK, RUNS_DISK, VALKEY_MEMORY
from tests.chaos.processes import Resident
from tests.chaos.site_process import House
from tests.small_disks import SmallDisk
from tests.waiting import wait_until


@contextmanager
def frozen(residents: Sequence[Resident]) -> Iterator[None]:
    """Stop these processes, and continue at the end those that still live."""
    for resident in residents:
        resident.process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        for resident in reversed(residents):
            resident.process.send(signal.SIGCONT)


@contextmanager
def full(house: House, what: str, disks: Mapping[str, SmallDisk], tend: Callable[[], None]) -> Iterator[None]:
    """Leave no room on that disk, or in the memory of Valkey, until the end.

    `tend` is called while Valkey is awaited; it makes a start again that the fault before has cut short.
    """
    if what == VALKEY_MEMORY:
        _limit_memory(house.data, 1, tend)
    else:
        disks[what].fill()
    try:
        yield
    finally:
        if what == VALKEY_MEMORY:
            _limit_memory(house.data, 0, tend)
        else:
            disks[what].make_room()


def _limit_memory(data: Path, size_bytes: int, tend: Callable[[], None]) -> None:
    """Set the limit; 0 is none. A Valkey that is being started again is awaited."""

    def is_set() -> bool:
        tend()
        with suppress(redis.RedisError), redis.from_url(redis_url(data)) as client:
            return bool(client.config_set("maxmemory", size_bytes))
        return False

    wait_until(is_set, "Valkey to take a limit of its memory")


def disk_folders(data: Path) -> dict[str, Path]:
    """Return the folders that lie on disks of their own where disks fill up."""
    return {RUNS_DISK: data / "runs", DATABASE_DISK: data / "postgres"}
