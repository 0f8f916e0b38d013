"""Runs whose folder is on a disk that is really full wait for space, or end with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runs import launching
from runs.models import Experiment
from tests.runs.local_cluster import Small, attempt_of, run_of, tick_until
from tests.small_disks import SmallDisk, needs_small_disk, small_disk
from workers.attempt import DISK_FULL
from workers.executors.states import State

pytestmark = needs_small_disk
FILLS_THE_DISK = f"""
with open('ballast', 'ab', buffering=0) as ballast:
    try:
        while ballast.write(bytes(2**20)):
            pass
    except OSError:
        raise SystemExit({DISK_FULL})
"""


@pytest.fixture
def disk(small: Small, tmp_path: Path) -> Iterator[SmallDisk]:
    """Mount a disk for the folder of runs, and for nothing else."""
    folder = tmp_path / "runs"
    folder.mkdir()
    with small_disk(folder, 2) as mounted:
        yield mounted


def test_run_on_a_full_disk_waits_for_space(experiment: Experiment, small: Small, disk: SmallDisk) -> None:
    small.program = "open('ran', 'a').write('x')"
    disk.fill()
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    waiting = attempt_of(run)
    assert (waiting.state, waiting.reason[:11]) == (State.SUBMITTING.value, "disk full: "), waiting.reason
    disk.make_room()
    ended = tick_until(run, State.SUCCEEDED.value)
    assert (ended.directory / "ran").read_text() == "x"


def test_a_run_that_fills_its_disk_fails_and_names_the_folder(
    experiment: Experiment, small: Small, disk: SmallDisk
) -> None:
    small.program = FILLS_THE_DISK
    run = run_of(experiment)
    ended = tick_until(run, State.FAILED.value, State.SUCCEEDED.value, State.LOST.value)
    expected = f"disk full: {ended.directory} cannot be written; free space, then resume the run"
    assert (ended.state, ended.reason, ended.exit_code) == (State.FAILED.value, expected, DISK_FULL)
