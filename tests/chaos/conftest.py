"""A site that is not started yet, with a clock and with disks of its own if this machine allows that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos.clock import COMPILER, Clock
from tests.chaos.injection import disk_folders
from tests.chaos.scenario import ChaosScenario
from tests.chaos.supervisor import Supervisor
from tests.small_disks import missing_requirement, small_disk
from tests.started_site import make_started_site

DISK_MB = 1024


@pytest.fixture
def chaos(tmp_path: Path) -> Iterator[ChaosScenario]:
    """Yield the scenario that makes that site fail. It prints each fault."""
    data = make_started_site(tmp_path / "data")
    (data / "runs").mkdir()
    clock = Clock(tmp_path) if COMPILER else None
    house = Supervisor(data, clock.env if clock else {})
    with ExitStack() as mounts:
        folders = {} if missing_requirement() else disk_folders(data)
        disks = {disk: mounts.enter_context(small_disk(folder, DISK_MB)) for disk, folder in folders.items()}
        scenario = ChaosScenario(house, clock, lambda line: print(line, flush=True), disks)
        yield scenario
        scenario.stop()
        house.kill_all()
