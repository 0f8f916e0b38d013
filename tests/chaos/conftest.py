"""A house that is not open yet, with a clock and with disks of its own where this machine allows that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos.clock import COMPILER, Clock
from tests.chaos.injection import disk_folders
from tests.chaos.scenario import Chaos
from tests.chaos.site_process import House
from tests.small_disks import small_disk, why_not
from tests.started_site import lived_in

DISK_MB = 1024


@pytest.fixture
def chaos(tmp_path: Path) -> Iterator[Chaos]:
    """What makes that house fail. It prints each fault."""
    data = lived_in(tmp_path / "data")
    (data / "runs").mkdir()
    clock = Clock(tmp_path) if COMPILER else None
    house = House(data, clock.env if clock else {})
    with ExitStack() as mounts:
        folders = {} if why_not() else disk_folders(data)
        disks = {what: mounts.enter_context(small_disk(folder, DISK_MB)) for what, folder in folders.items()}
        striking = Chaos(house, clock, lambda words: print(words, flush=True), disks)
        yield striking
        striking.end()
        house.kill_everything()
